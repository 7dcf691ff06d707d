"""The page: one file that shows a recording in a browser, from a disk and without a network."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import jinja2
from markupsafe import Markup

from fastdispatch import Error
from fastdispatch.trace import Columns, Trace
from fastdispatch.version import __version__
from fastdispatch.views import html_data, html_source
from fastdispatch.views.html_blocks import block
from fastdispatch.views.html_scripts import script, text_of

_MEGABYTE = 10**6


@dataclass
class Wanted:
    """What a page is asked for. ``source``: with texts of functions. ``most``: bytes."""

    source: bool = False
    most: int = 16 * _MEGABYTE


def page(trace: Trace, path: str, wanted: Wanted) -> bytes:
    """Equal arguments give equal bytes. Raises Error where it cannot be made as small as it must be."""
    made = _assembled(path, _blocks(trace, path, wanted))
    if len(made) > wanted.most:
        raise Error(f"{path}: the page would have {len(made) / _MEGABYTE:.1f} MB; allow more with --max-mb")
    return made


def _blocks(trace: Trace, path: str, wanted: Wanted) -> dict[str, str]:
    kept: Columns = html_data.contexts(trace)
    values, tables = html_data.core(trace, path, 0, kept)
    return {"data-core": block(values, tables), "data-source": block(*html_source.block_of(trace, wanted.source))}


def _hash(text: str) -> str:
    """What the page's own policy lets run: this text and nothing else."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _assembled(path: str, blocks: dict[str, str]) -> bytes:
    style, code = text_of("page.css"), script()
    values: dict[str, Any] = {
        "version": __version__,
        "title": PurePath(path).name or "recording",
        "path": path,
        "style": Markup(style),
        "style_hash": _hash(style),
        "script": Markup(code),
        "script_hash": _hash(code),
        "blocks": blocks,
    }
    template = jinja2.Environment(autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined)
    return template.from_string(text_of("page.html.j2")).render(values).encode("utf-8", "replace") + b"\n"
