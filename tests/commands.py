"""The command line in this process: what a command prints."""

import contextlib
import io
import json
from typing import Any

from fastdispatch import cli
from tests import schemas


def run(*words: object) -> tuple[int, str, str]:
    """The status, standard output and standard error."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        try:
            status = cli.main([str(word) for word in words]) or 0
        except SystemExit as done:
            status = int(done.code or 0)
    output, errors = (stream.buffer.getvalue().decode() for stream in streams)  # type: ignore[attr-defined]
    return status, output, errors


def out(*words: object, status: int = 0) -> str:
    """The standard output of a command that must end with this status."""
    found, output, errors = run(*words)
    assert found == status, errors
    return output


def document(*words: object, status: int = 0) -> Any:
    """What such a command prints with ``--json``."""
    return json.loads(out(*words, "--json", status=status))


def error(*words: object, status: int = 2) -> str:
    """The standard error of a command that must end with this status; with 2, nothing else is printed."""
    found, output, errors = run(*words)
    assert found == status and (status != 2 or not output), (output, errors)
    return errors


def complaint(*words: object) -> str:
    """The one line of a command that refuses its input."""
    errors = error(*words)
    assert errors.count("\n") == 1, errors
    return errors


def timeline_stats(*words: object) -> dict[str, Any]:
    """What ``timeline stats --json`` prints, as its schema has it."""
    made: dict[str, Any] = schemas.valid(document("timeline", "stats", *words), "timeline-stats")
    return made


def merge_timelines(*words: object, status: int = 0) -> list[str]:
    """The lines that ``timeline merge`` prints to standard error."""
    return error("timeline", "merge", *words, status=status).splitlines()
