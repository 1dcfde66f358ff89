"""What pages are made of: the scenario form and its URL, figures, tables and the wording of numbers."""
