"""Messages of commands, on standard error."""

import sys

from fastdispatch.text.formats import printable

#: Characters of a message, which may quote a damaged file.
_LONGEST = 2000


def message(line: str) -> None:
    text = printable(line)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"
    print(f"fastdispatch: {text}", file=sys.stderr, flush=True)
