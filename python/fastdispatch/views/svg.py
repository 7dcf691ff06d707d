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
    words: list[str] = []
    # It cannot always bend lines around boxes ("triangulation failed"); then they are drawn straight.
    for options in ([], ["-Gsplines=line"]):
        try:
            result = subprocess.run(["dot", f"-T{form}", *options], input=dot, capture_output=True, check=False)
        except OSError:
            raise Error(NO_GRAPHVIZ) from None
        if result.returncode == 0 and result.stdout.rstrip().endswith(end):
            return result.stdout
        words = result.stderr.decode(errors="replace").split()
    raise Error(f"Graphviz failed (status {result.returncode}): {' '.join(words)[:300] or 'no message'}")
