"""Pictures of the call graph. The dot text is made by the core; Graphviz does the layout."""

from __future__ import annotations

import subprocess
from typing import Literal

from fastdispatch import Error

NO_GRAPHVIZ = (
    "Graphviz is needed to draw and its program 'dot' was not found: install it (apt-get install graphviz), "
    "or write the text for another machine with -o FILE.dot"
)


def layout(dot: bytes, form: Literal["svg", "pdf"] = "svg") -> bytes:
    """The picture of a graph in the dot language. Raises ``Error`` with one line without Graphviz or when it fails."""
    end = {"svg": b"</svg>", "pdf": b"%%EOF"}[form]
    try:
        result = subprocess.run(["dot", f"-T{form}"], input=dot, capture_output=True, check=False)
    except OSError:
        raise Error(NO_GRAPHVIZ) from None
    if result.returncode != 0 or not result.stdout.rstrip().endswith(end):
        words = result.stderr.decode(errors="replace").split()
        raise Error(f"Graphviz failed (status {result.returncode}): {' '.join(words)[:300] or 'no message'}")
    return result.stdout
