"""JavaScript of the page: modules of ``page/assets``, joined into one script.

Every file is an ES module, for editors and linters; here ``import`` and ``export`` become constants, each module in its
own scope, without comments and indentation::

    import { el } from "./dom.js";     const { el } = dom_js;
    export function draw() {}          const flame_js = (() => { function draw() {} return { draw }; })();
"""

import re
from importlib.resources import files

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
    """Return the module ``start`` and its imports, in order of dependencies."""
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
