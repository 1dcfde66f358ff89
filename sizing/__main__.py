"""`python -m sizing`: one Scenario from flags, or one a line with --jsonl. The contract is DESIGN.md's."""

import sys

from sizing.command_line import main

sys.exit(main(sys.argv[1:], sys.stdin, sys.stdout, sys.stderr))
