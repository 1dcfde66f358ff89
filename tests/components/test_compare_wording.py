"""Names that anybody may have written stay text in a Markdown headline."""

import pytest

from components.plain_text import literal


@pytest.mark.parametrize(
    "text",
    [
        ":red[hot]",
        ":material/home:",
        ":smile:",
        "$x$",
        "**b**",
        "[a](http://b)",
        "<b>",
        "# h",
        "`c`",
        "a~~b~~",
        "1. x",
        "\\",
    ],
)
def test_no_markup_survives(text: str) -> None:
    shown = literal(text)
    assert shown.replace("\\\\", "\0").replace("\\", "").replace("\u2060", "").replace("\0", "\\") == text
    for index, sign in enumerate(shown):
        if sign in "[]()*_`$<>#~":
            assert shown[index - 1] == "\\"
        if sign == ":":
            assert shown[index - 1] == "\\" and shown[index + 1] == "\u2060"


def test_lines_become_one() -> None:
    assert literal("a\n\n# b") == "a \\# b"
