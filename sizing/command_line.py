"""The command line: flags or JSON lines in, Reports out.

Exit code 0 where every line gave a Report, 1 where some line was an error, 2 for unusable arguments.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from sizing.answer import answer, error_of
from sizing.scenario import Scenario

LONGEST_LINE = 1_000_000
BYTE_ORDER_MARK = "\ufeff"
USAGE = """usage: python -m sizing --model ID [--FIELD VALUE ...]
       python -m sizing --jsonl < scenarios.jsonl > reports.jsonl

Fields are those of a Scenario, with dashes: --context-length 8192 --batch-size 16 --tensor-parallel 2
--accelerator h100-sxm5-80gb --kv-dtype fp8 --weights awq-int4 --engine vllm ...
Values that are objects are written as JSON: --kv-dtype '{"k": "fp8", "v": "bf16"}'.
Flags for true and false take either word, or no value for true."""


class UsageError(ValueError):
    """Arguments that no Scenario can be made of."""


def main(arguments: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Run the command line and return its exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, file=stdout if arguments else stderr)
        return 0 if arguments else 2
    if list(arguments) == ["--jsonl"]:
        return _answer_lines(stdin, stdout)
    try:
        values = values_of(arguments)
    except UsageError as error:
        print(f"{error}\n\n{USAGE}", file=stderr)
        return 2
    result = answer(values)
    print(json.dumps(result, indent=2), file=stdout, flush=True)
    return 1 if "error" in result else 0


def _answer_lines(stdin: TextIO, stdout: TextIO) -> int:
    failed = False
    for line in _lines(stdin):
        result = _answer_line(line)
        failed = failed or "error" in result
        print(json.dumps(result), file=stdout, flush=True)
    return int(failed)


def _lines(stdin: TextIO) -> Iterator[str]:
    """The lines that are not blank; of one that is longer than LONGEST_LINE only the start is kept in memory."""
    while line := stdin.readline(LONGEST_LINE + 1):
        rest = line if line.strip() else ""
        while len(rest) > LONGEST_LINE and not rest.endswith("\n"):
            rest = stdin.readline(LONGEST_LINE + 1)
        if line.strip():
            yield line.removeprefix(BYTE_ORDER_MARK)


def _answer_line(line: str) -> dict[str, Any]:
    if len(line) > LONGEST_LINE:
        return error_of("", f"The line is longer than {LONGEST_LINE:,} characters.")
    try:
        line.encode()
    except UnicodeEncodeError:
        return error_of("", "The line is not text in UTF-8.")
    try:
        values = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        return error_of("", f"The line is not JSON: {str(error)[:100]}.")
    if not isinstance(values, dict):
        return error_of("", "The line is not a JSON object.")
    return answer(values)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def values_of(arguments: Sequence[str]) -> dict[str, Any]:
    """Scenario values from flags. Raises UsageError for what is not a flag, is not a field, or comes twice."""
    values: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        flag, equals, attached = rest.pop(0).partition("=")
        field = flag[2:].replace("-", "_")
        if not flag.startswith("--") or field not in Scenario.model_fields:
            raise UsageError(f'"{flag}" is not a flag that is known here.')
        if field in values:
            raise UsageError(f"{flag} is given twice.")
        if equals:
            values[field] = _value(field, attached)
        elif rest and not rest[0].startswith("--"):
            values[field] = _value(field, rest.pop(0))
        elif _takes_flag(field):
            values[field] = True
        else:
            raise UsageError(f"{flag} needs a value.")
    if "model" not in values:
        raise UsageError("--model is missing.")
    return values


def _takes_flag(field: str) -> bool:
    return "bool" in str(Scenario.model_fields[field].annotation)


def _value(field: str, text: str) -> Any:
    """Numbers, objects, true, false and null are read as JSON; anything else, and every id, is a text."""
    if field in ("model", "weights", "accelerator", "engine", "engine_version"):
        return text
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text
