"""Pictures of the call graph. The dot text is made by the core; Graphviz does the layout."""

from __future__ import annotations

import os
import subprocess
from typing import Literal

from fastdispatch import Error

NO_GRAPHVIZ = (
    "Graphviz is needed to draw and its program 'dot' was not found: install it (apt-get install graphviz), "
    "or write the text for another machine with -o FILE.dot"
)


#: What Graphviz is asked for, by the end of a file's name.
FORMS: dict[str, Literal["svg", "pdf", "png"]] = {".svg": "svg", ".pdf": "pdf", ".png": "png"}

#: With what a whole picture ends.
_ENDS = {"svg": b"</svg>", "pdf": b"%%EOF", "png": b"IEND\xaeB`\x82"}


def drawn(dot: bytes, path: str | os.PathLike[str]) -> bytes:
    """What belongs into a file of this name: the text itself for ``.dot``, else a picture, SVG where the name does not
    say."""
    suffix = os.path.splitext(path)[1].lower()
    return dot if suffix == ".dot" else layout(dot, FORMS.get(suffix, "svg"))


def layout(dot: bytes, form: Literal["svg", "pdf", "png"] = "svg") -> bytes:
    """The picture of a graph in the dot language. Raises ``Error`` with one line without Graphviz or when it fails."""
    words: list[str] = []
    # It cannot always bend lines around boxes ("triangulation failed"); then they are drawn straight.
    for options in ([], ["-Gsplines=line"]):
        try:
            result = subprocess.run(["dot", f"-T{form}", *options], input=dot, capture_output=True, check=False)
        except OSError:
            raise Error(NO_GRAPHVIZ) from None
        if result.returncode == 0 and result.stdout.rstrip().endswith(_ENDS[form]):
            return result.stdout
        words = result.stderr.decode(errors="replace").split()
    raise Error(f"Graphviz failed (status {result.returncode}): {' '.join(words)[:300] or 'no message'}")
