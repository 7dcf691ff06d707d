"""Text of Graphviz's language: escapes, and numbers with units."""

_MARKUP = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
#: Characters that XML does not allow become U+FFFD. Graphviz decodes entities in all texts.
_PLAIN = {**dict.fromkeys((*range(32), 127, 0xFFFE, 0xFFFF), "\N{REPLACEMENT CHARACTER}"), **_MARKUP}
_LABEL = _PLAIN | {ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n"}
#: Graphviz decodes ``\N`` in a tooltip and in HTML twice or once, depending on its version.
_BACKSLASH = {ord("\\"): "\N{FULLWIDTH REVERSE SOLIDUS}"}
_TOOLTIP = _LABEL | _BACKSLASH
_HTML = _PLAIN | _BACKSLASH | {ord('"'): "&quot;", ord("\n"): " "}


def label_text(text: str, limit: int) -> str:
    """Escape a label: at most ``limit`` characters, then an ellipsis."""
    return _cut(text, limit).translate(_LABEL)


def tooltip_text(text: str, limit: int) -> str:
    return _cut(text, limit).translate(_TOOLTIP)


def html_text(text: str, limit: int) -> str:
    return _cut(text, limit).translate(_HTML)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


def time_text(nanoseconds: int) -> str:
    """Format a time with three digits: ``1.24 s``, ``80.0 ms``, ``3.10 µs``."""
    if nanoseconds < 999.5:
        return f"{nanoseconds} ns"
    unit, size = next(
        ((unit, size) for unit, size in (("µs", 1e3), ("ms", 1e6)) if nanoseconds < 999.5 * size), ("s", 1e9)
    )
    value = nanoseconds / size
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"


def count_text(count: int) -> str:
    """Format a count: ``1 234 567``."""
    return f"{count:,}".replace(",", " ")


def percent_text(part: int, whole: int) -> str:
    """Format a share: ``12.5 %``, ``0.04 %``; 0 if ``whole`` is 0."""
    percent = 100 * part / whole if whole else 0.0
    return f"{percent:.{0 if percent >= 99.95 or not part else 2 if percent < 0.1 else 1}f} %"
