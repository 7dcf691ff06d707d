"""SVG markup of all drawings: elements, patterns, axes and the document."""

from collections.abc import Iterable, Iterator
from html import escape
from math import inf

STYLE = """
text { font-family: 'Helvetica Neue', Helvetica, Arial, sans-serif; fill: #1b1f24; font-size: 12px }
.title { font-size: 17px; font-weight: bold } .note { fill: #57606a } .small { font-size: 11px; fill: #57606a }
.grid { stroke: #d0d7de; stroke-width: 0.7 } .axis { stroke: #57606a }
"""
#: Fills of a box over each other, and its words.
Entry = tuple[list[str], str]
_UNITS = (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))


def element(name: str, content: str = "", /, **attributes: object) -> str:
    """Return an element; ``font_size`` stands for ``font-size``, ``class_`` for ``class``. None omits an attribute."""
    words = (
        f' {key.rstrip("_").replace("_", "-")}="{_number(value) if isinstance(value, float) else value}"'
        for key, value in attributes.items()
        if value is not None
    )
    start = f"<{name}{''.join(words)}"
    return f"{start}>{content}</{name}>" if content else f"{start}/>"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(x: float, y: float, words: object, **attributes: object) -> str:
    return element("text", escape(str(words)), x=x, y=y, **attributes)


def rect(x: float, y: float, width: float, height: float, **attributes: object) -> str:
    return element("rect", x=x, y=y, width=width, height=height, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: object) -> str:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def group(tip: str, parts: Iterable[str]) -> str:
    """Return elements with a tooltip."""
    return f"<g><title>{escape(tip)}</title>{''.join(parts)}</g>"


def stripes(name: str, size: int, width: float, angle: int = 45, ground: str | None = None, **ink: object) -> str:
    """Return a pattern of stripes."""
    parts = [rect(0, 0, size, size, fill=ground)] if ground else []
    return _pattern(name, size, [*parts, rect(0, 0, width, size, **ink)], f"rotate({angle})")


def dots(name: str, size: int, radius: float, ground: str | None = None, **ink: object) -> str:
    """Return a pattern of dots."""
    parts = [rect(0, 0, size, size, fill=ground)] if ground else []
    return _pattern(name, size, [*parts, element("circle", cx=size / 2, cy=size / 2, r=radius, **ink)])


def _pattern(name: str, size: int, parts: Iterable[str], transform: str | None = None) -> str:
    units = {"patternUnits": "userSpaceOnUse", "patternTransform": transform}
    return element("pattern", "".join(parts), id=name, width=size, height=size, **units)


def legends(x: float, y: float, entries: Iterable[Entry], right: float = inf) -> tuple[list[str], float]:
    """Return boxes with fills over each other and their texts in a row up to ``right``, and where it ends."""
    parts = []
    for fills, words in entries:
        if x + 30 + 6.4 * len(words) > right:
            break
        parts += [rect(x, y, 24, 14, fill=fill, stroke="#57606a", stroke_width=0.7) for fill in fills]
        parts.append(text(x + 30, y + 11, words))
        x += 30 + 6.2 * len(words) + 18
    return parts, x


def tick(minimum: float) -> int:
    """Return the smallest number of at least ``minimum`` that is 1, 2 or 5 times a power of ten."""
    power = 1
    while 10 * power <= minimum:
        power *= 10
    return next(power * times for times in (1, 2, 5, 10) if power * times >= minimum)


def time_axis(span: int, words: str, left: float, right: float, top: float, bottom: float) -> Iterator[str]:
    """Yield a grid of times in nanoseconds, and below it their numbers and ``words`` with the unit."""
    unit, size = next(((unit, size) for unit, size in _UNITS if span >= 2 * size), _UNITS[-1])
    between = tick(span / 10)
    for index in range(int(span / between) + 1):
        x = left + index * between * (right - left) / max(span, 1)
        yield line(x, top, x, bottom, class_="grid")
        yield text(x, bottom + 16, f"{index * between / size:g}", text_anchor="middle")
    yield line(left, bottom, right, bottom, class_="axis")
    yield text((left + right) / 2, bottom + 36, f"{words}, {unit}", text_anchor="middle")


def document(
    width: float, height: float, title: str, parts: Iterable[str], *, style: str = "", patterns: Iterable[str] = ()
) -> str:
    """Return a whole drawing on a white ground."""
    head = [element("title", escape(title)), element("style", STYLE + style), element("defs", "".join(patterns))]
    ground = rect(0, 0, width, height, fill="#ffffff")
    size = {"width": width, "height": height, "viewBox": f"0 0 {width:.0f} {height:.0f}", "role": "img"}
    inner = "\n".join([*head, ground, *parts])
    return element("svg", f"\n{inner}\n", xmlns="http://www.w3.org/2000/svg", **size) + "\n"
