"""What somebody wrote, in a link, a file or a field, kept from being read as markup."""

import re

MARKS = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&])")


def literal(text: str) -> str:
    """Markdown that shows the text as it is. A word joiner keeps Streamlit from reading :icons: after the escapes."""
    return MARKS.sub(r"\\\1", " ".join(text.split())).replace(":", ":\u2060")
