"""`python -m sizing`: one Scenario from flags, or one a line with --jsonl."""

import os
import sys
from io import TextIOWrapper

from sizing.command_line import main

if isinstance(sys.stdin, TextIOWrapper):  # UTF-8 whatever the locale; bytes that are none are told apart line by line
    sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
try:
    code = main(sys.argv[1:], sys.stdin, sys.stdout, sys.stderr)
except BrokenPipeError:  # the reader has seen enough
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    code = 1
sys.exit(code)
