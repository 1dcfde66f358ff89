"""`python -m sizing`: one Scenario from flags, or one a line with --jsonl."""

import gc
import os
import sys
from io import TextIOWrapper


def run() -> int:
    """Imports make no garbage; looking for it would take a twentieth of a start."""
    gc.disable()
    from sizing.command_line import main

    gc.enable()
    if isinstance(sys.stdin, TextIOWrapper):  # UTF-8 in any locale; bytes that are none are told apart line by line
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    try:
        return main(sys.argv[1:], sys.stdin, sys.stdout, sys.stderr)
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


sys.exit(run())
