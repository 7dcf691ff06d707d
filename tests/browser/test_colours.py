"""Colours of packages are distinguishable for everybody, and text on them is readable."""

import math
import re
from itertools import combinations
from pathlib import Path

import pytest

STYLE = (Path(__file__).parents[2] / "python/fastdispatch/page/assets/page.css").read_text()
LEAST_DISTANCE = 15.0  # CIE76; 2.3 is just distinguishable side by side

Colour = tuple[float, float, float]

#: Machado, Oliveira, Fernandes 2009: linear RGB as seen without one kind of cone.
VISIONS = {
    "full": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def linear(text: str) -> Colour:
    channels = [int(text[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return red, green, blue


def lab(colour: Colour) -> Colour:
    red, green, blue = (min(1.0, max(0.0, channel)) for channel in colour)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def contrast(one: str, other: str) -> float:
    lights = sorted(0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2] + 0.05 for c in (linear(one), linear(other)))
    return lights[1] / lights[0]


def palette(name: str = r"package-\d") -> dict[str, str]:
    return dict(re.findall(rf"--({name}): (#[0-9a-f]{{6}})", STYLE))


def seen(colours: dict[str, str], vision: str) -> dict[str, Colour]:
    def through(colour: str) -> Colour:
        rgb = linear(colour)
        red, green, blue = (sum(f * c for f, c in zip(row, rgb, strict=True)) for row in VISIONS[vision])
        return lab((red, green, blue))

    return {name: through(colour) for name, colour in colours.items()}


def themes() -> list[dict[str, str]]:
    """Variables of the light theme, and of the dark one."""
    blocks = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r"\{([^{}]*)\}", STYLE)]
    return [block for block in blocks if "ground" in block and "mark" in block]


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize(
    ("name", "count"),
    [(r"package-\d", 8), (r"tone-[\w-]+", 7), (r"phase-\w+", 7)],
    ids=["packages", "changes", "phases"],
)
def test_colours_are_distinguishable(name: str, count: int, vision: str) -> None:
    """Of changes: more differs from less, both from no change, and small changes from large ones."""
    found = seen(palette(name), vision)
    assert len(found) == count
    for one, other in combinations(found, 2):
        assert math.dist(found[one], found[other]) >= LEAST_DISTANCE, (one, other)


def test_phases_have_other_colours_than_packages() -> None:
    phases, packages = (seen(palette(name), "full") for name in (r"phase-\w+", r"package-\d"))
    for name, colour in phases.items():
        if name != "phase-other":
            assert min(math.dist(colour, other) for other in packages.values()) >= LEAST_DISTANCE, name


def test_text_can_be_read() -> None:
    light, dark = themes()
    colours = [*palette().values(), *palette(r"tone-[\w-]+").values(), *palette(r"phase-\w+").values()]
    assert min(contrast(colour, light["on-colour"]) for colour in colours) >= 4.5
    for theme in (light, dark):
        for ground in ("ground", "panel", "raised"):
            for ink in ("ink", "faint", "accent", "good", "bad", "mark"):
                assert contrast(theme[ground], theme[ink]) >= 4.5, (ground, ink)
