"""Layout of graphs by Graphviz."""

from __future__ import annotations

import os
import subprocess
from typing import Literal

from fastdispatch import Error

NO_GRAPHVIZ = (
    "Graphviz is needed to draw and its program 'dot' was not found: install it (apt-get install graphviz), "
    "or write the text for another machine with -o FILE.dot"
)


#: Output formats of Graphviz, by file extension.
FORMS: dict[str, Literal["svg", "pdf", "png"]] = {".svg": "svg", ".pdf": "pdf", ".png": "png"}

#: Ends of complete images.
_ENDS = {"svg": b"</svg>", "pdf": b"%%EOF", "png": b"IEND\xaeB`\x82"}


def drawn(dot: bytes, path: str | os.PathLike[str]) -> bytes:
    """Return the contents of a file of this name: the source for ``.dot``, else an image, by default SVG."""
    suffix = os.path.splitext(path)[1].lower()
    return dot if suffix == ".dot" else layout(dot, FORMS.get(suffix, "svg"))


def layout(dot: bytes, form: Literal["svg", "pdf", "png"] = "svg") -> bytes:
    """Return a graph in the dot language as an image. Raises ``Error`` without Graphviz or if it fails."""
    words: list[str] = []
    # If it cannot bend lines around boxes ("triangulation failed"), draw them straight.
    for options in ([], ["-Gsplines=line"]):
        try:
            result = subprocess.run(["dot", f"-T{form}", *options], input=dot, capture_output=True, check=False)
        except OSError:
            raise Error(NO_GRAPHVIZ) from None
        if result.returncode == 0 and result.stdout.rstrip().endswith(_ENDS[form]):
            return result.stdout
        words = result.stderr.decode(errors="replace").split()
    raise Error(f"Graphviz failed (status {result.returncode}): {' '.join(words)[:300] or 'no message'}")
