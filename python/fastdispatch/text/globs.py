"""Globs of keys and packages."""

import re


def matches(glob: str, text: str) -> bool:
    """Match a glob: ``*`` is any text, ``?`` one character; brackets are literal, as they are part of keys."""
    pattern = "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in glob)
    return re.fullmatch(pattern, text, re.S) is not None
