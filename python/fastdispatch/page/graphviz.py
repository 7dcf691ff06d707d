"""Layout of graphs by Graphviz."""

import os
import re
import subprocess
from collections.abc import Callable
from typing import Literal

from fastdispatch._core import Error

NO_GRAPHVIZ = (
    "Graphviz is needed to draw and its program 'dot' was not found: install it (apt-get install graphviz), "
    "or write the text for another machine with -o FILE.dot"
)


#: Output formats of Graphviz, by file extension.
FORMS: dict[str, Literal["svg", "pdf", "png"]] = {".svg": "svg", ".pdf": "pdf", ".png": "png"}

#: Ends of complete images.
_ENDS = {"svg": b"</svg>", "pdf": b"%%EOF", "png": b"IEND\xaeB`\x82"}


#: By style: the widest picture in points (text of 12 points has 11 pixels on a screen of 1366; the classic style is
#: scrolled), and the numbers of boxes without callees on a line that are tried; 0 is the default.
_FITS = {"default": (1490, (0, 3, 2, 1)), "classic": (6000, (0, 8, 4))}


def fitted(dot_of: Callable[[int], bytes], style: str, path: str | os.PathLike[str]) -> bytes:
    """Return :func:`drawn` of ``dot_of(leaves)`` with the most leaves on a line that fit, else the narrowest."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix == ".dot":
        return dot_of(0)
    widest, numbers = _FITS[style]
    pictures = []
    for dot in map(dot_of, numbers):
        image = layout(dot)
        pictures.append((_width(image), dot, image))
        if pictures[-1][0] <= widest:
            break
    _, dot, image = min(pictures, key=lambda each: each[0])
    return image if FORMS.get(suffix, "svg") == "svg" else drawn(dot, path)


def _width(image: bytes) -> int:
    """Return the width of an SVG of Graphviz in points."""
    found = re.search(rb'<svg width="(\d+)', image)
    return int(found[1]) if found else 0


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
