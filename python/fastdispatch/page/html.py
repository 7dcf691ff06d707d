"""The HTML report: one self-contained file, without network access."""

import base64
import gzip
import hashlib
import inspect
import json
import re
import sys
import tokenize
from array import array
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import PurePath
from typing import Any

import jinja2
from markupsafe import Markup

from fastdispatch._core import Error
from fastdispatch.detectors import Findings, findings
from fastdispatch.page import html_data, html_overview, html_timeline
from fastdispatch.page.html_data import measured
from fastdispatch.read.source_files import find_source, source_folders
from fastdispatch.read.trace import Columns, Trace
from fastdispatch.report.report_facts import facts
from fastdispatch.version import __version__

_MEGABYTE = 10**6
_FEWEST = 1000  # slices: a timeline of fewer is of no use


Table = Mapping[str, Sequence[Any]]

#: Type in the page, code of ``array``, least and greatest value; the first that fits is taken.
_TYPES = (
    ("u8", "B", 0, 2**8 - 1),
    ("u16", "H", 0, 2**16 - 1),
    ("u32", "I", 0, 2**32 - 1),
    ("i32", "i", -(2**31), 2**31 - 1),
)
_ALIGNMENT = 8


class _Columns:
    """Concatenated bytes of columns, and the texts that they refer to."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.texts: dict[str, int] = {}

    def add(self, values: Sequence[Any]) -> dict[str, Any] | None:
        is_text = isinstance(values[0], str)
        numbers = [self.texts.setdefault(text, len(self.texts)) for text in values] if is_text else values
        if not is_text and not any(numbers):
            return None
        name, code = _type_of(numbers)
        column = array(code, numbers)
        if sys.byteorder == "big":
            column.byteswap()
        self.content.extend(bytes(-len(self.content) % _ALIGNMENT))
        described = {"type": name, "at": len(self.content), "text": is_text}
        self.content.extend(column.tobytes())
        return described


def _type_of(numbers: Sequence[Any]) -> tuple[str, str]:
    least, greatest, exact = min(numbers), max(numbers), float not in set(map(type, numbers))
    fits = ((name, code) for name, code, low, high in _TYPES if exact and low <= least and greatest <= high)
    return next(fits, ("f64", "d"))


def block(values: Any, tables: Mapping[str, Table]) -> str:
    """Return a block as text; equal arguments give equal text."""
    columns = _Columns()
    described = {}
    for name, table in tables.items():
        rows = len(next(iter(table.values())))
        found = {column: columns.add(cells) for column, cells in table.items()} if rows else {}
        described[name] = {"rows": rows, "columns": {column: what for column, what in found.items() if what}}
    head = {"values": values, "texts": list(columns.texts), "tables": described}
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 4) % _ALIGNMENT)
    content = len(text).to_bytes(4, "little") + text + bytes(columns.content)
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()


@dataclass
class PageOptions:
    """Options of a page. ``source``: include source code of functions. ``most``: maximum bytes."""

    source: bool = False
    most: int = 16 * _MEGABYTE


def page(trace: Trace, path: str, options: PageOptions, found: Findings | None = None) -> bytes:
    """Return a page; equal arguments give equal bytes. ``found``: findings, by default those of the
    trace. If the page is too large, the timeline is reduced; raises Error if that is not enough."""
    extra = measured(trace)
    kept = html_data.contexts(trace, extra)
    known = facts(trace, None)
    overview = block(*html_overview.block_of(trace, known, found or findings(trace)))
    pipeline = html_timeline.findings_of(trace)
    source = block(*source_block(trace.nodes, options.source, (trace,)))
    ranks = html_data.paths_by_rank(trace, kept)
    slices = html_timeline.MOST
    while True:
        lines = html_timeline.block_of(trace, slices)
        capped = {} if lines is None else lines[0]["capped"]
        core = html_data.core(trace, path, kept, known, pipeline | {"capped": capped}, extra)
        blocks = {"data-core": block(*core), "data-overview": overview, "data-source": source}
        blocks |= {} if ranks is None else {"data-ranks": block({}, ranks)}
        blocks |= {} if lines is None else {"data-timeline": block(*lines)}
        made = _assembled(path, PurePath(path).name or "recording", blocks, trace.incomplete)
        if len(made) <= options.most or lines is None or slices < _FEWEST:
            return _bounded(path, made, options)
        slices //= 4


def bounded(
    path: str, title: str, blocks: dict[str, str], options: PageOptions, incomplete: Sequence[str] = (), lead: str = ""
) -> bytes:
    """Return a page of these blocks, with a first sentence. Raises Error if it is too large."""
    return _bounded(path, _assembled(path, title, blocks, incomplete, lead), options)


def _bounded(path: str, made: bytes, options: PageOptions) -> bytes:
    if len(made) > options.most:
        raise Error(f"{path}: the page would be {len(made) / _MEGABYTE:.1f} MB: raise max_mb of Trace.html()")
    return made


def _hash(text: str) -> str:
    """Return the hash that allows this text in the content security policy of the page."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _assembled(path: str, title: str, blocks: dict[str, str], incomplete: Sequence[str], lead: str = "") -> bytes:
    style, code = text_of("page.css"), script()
    values: dict[str, Any] = {"version": __version__, "title": title, "path": path, "blocks": blocks}
    values |= {"style": Markup(style), "style_hash": _hash(style), "script": Markup(code), "script_hash": _hash(code)}
    values |= {"incomplete": incomplete, "lead": lead}
    template = jinja2.Environment(autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined)
    return template.from_string(text_of("page.html.j2")).render(values).encode("utf-8", "replace") + b"\n"


_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z_]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|const|class) (\w+)", re.MULTILINE)
#: Lines of comments, and indentation: a page does without them.
_COMMENT = re.compile(r"^ *(?://[^\n]*|/\*\*(?:[^*]|\*(?!/))*\*/)\n", re.MULTILINE)
_INDENT = re.compile(r"^ +", re.MULTILINE)

_FOLDER = files("fastdispatch.page").joinpath("assets")


def text_of(name: str) -> str:
    """Return the text of an asset."""
    return _FOLDER.joinpath(name).read_text(encoding="utf-8")


def script(start: str = "main") -> str:
    """Return the module ``start`` of ``page/assets`` and its imports, in order of dependencies, as one script.

    Every file is an ES module, for editors and linters; here ``import`` and ``export`` become constants, each module in
    its own scope, without comments and indentation::

        import { el } from "./dom.js";     const { el } = dom_js;
        export function draw() {}          const flame_js = (() => { function draw() {} return { draw }; })();
    """
    done: dict[str, str] = {}
    _add(start, done)
    return '"use strict";\n' + "\n".join(done.values())


def _add(name: str, done: dict[str, str]) -> None:
    text = _INDENT.sub("", _COMMENT.sub("", text_of(f"{name}.js")))
    for _, other in _IMPORT.findall(text):
        if other not in done:
            _add(other, done)
    exports = ", ".join(found for _, found in _EXPORT.findall(text))
    body = _IMPORT.sub(lambda found: f"const {{{found[1].replace(' as ', ': ')}}} = {found[2]}_js;\n", text)
    body = _EXPORT.sub(r"\1 \2", body)
    done[name] = f"const {name}_js = (() => {{\n{body}return {{ {exports} }};\n}})();\n"


_LONGEST = 400  # lines shown per function


def source_block(
    nodes: Columns, with_texts: bool, recorded: Sequence[Trace], *, without: Collection[int] = ()
) -> tuple[dict[str, Any], dict[str, Columns]]:
    """Return values and tables of the block "data-source". ``recorded``: the traces with the nodes; ``without``:
    nodes without a file."""
    hidden = set(without)
    of_file: dict[str, list[int]] = {}
    for node, (file, line) in enumerate(zip(nodes["file"], nodes["line"], strict=True)):
        if file and line and node not in hidden:
            of_file.setdefault(file, []).append(node)
    folders = [folder for each in recorded for folder in source_folders(each)]
    paths: dict[str, str] = {}
    texts: Columns = {"node": [], "text": []}
    for file, members in sorted(of_file.items()):
        path, lines = find_source(file, folders, [(nodes["name"][node], nodes["line"][node]) for node in members])
        if path is None:
            continue
        paths[file] = str(path)
        if with_texts:
            texts["node"] += members
            texts["text"] += [_text(lines, nodes["line"][node]) for node in members]
    return {"paths": paths, "any": with_texts}, {"texts": texts}


def _text(lines: list[str], line: int) -> str:
    some = lines[line - 1 : line - 1 + _LONGEST]
    with suppress(SyntaxError, tokenize.TokenError):  # the limit cuts a bracket: show the lines up to it
        some = inspect.getblock(some)
    return "".join(some).rstrip("\n")
