"""The description of a module, ``repr(module)`` without its line ends, read as data.

    Conv2d(3, 64, kernel_size=(3, 3), padding=same)
    Classifier(  (classifier): Linear(in_features=8, out_features=4, bias=True))

Nothing is evaluated: all except literals are names, and a single name is a text.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import lru_cache

from fastdispatch._core import Error

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number> [-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf\b|nan\b) )
  | (?P<string> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
  | (?P<name> [A-Za-z_][\w.]* )
  | (?P<mark> [(),:=\[\]] )
  | (?P<other> \S )
)""",
    re.VERBOSE,
)
_CHILD = re.compile(r"\s*\(([\w.-]+)\):\s*(?:(\d+) x )?")
_DEEPEST = 50


@dataclass
class Description:
    """A call: values are Python source, made of literals alone."""

    name: str
    args: list[str] = field(default_factory=list)
    keywords: dict[str, str] = field(default_factory=dict)
    children: dict[str, Description] = field(default_factory=dict)

    def find(self, path: str) -> str | Description:
        """``rnn.0`` or ``attn.linear.in_features``: an argument of a child; ``rnn``: the child."""
        here = self
        names = path.split(".")
        for index, name in enumerate(names):
            last = index == len(names) - 1
            if name in here.children:
                here = here.children[name]
            elif last and name in here.keywords:
                return here.keywords[name]
            elif last and name.isdecimal() and int(name) < len(here.args):
                return here.args[int(name)]
            else:
                raise Error(f"its description has no {path}")
        return here


@lru_cache(maxsize=1024)
def describe(text: str) -> Description:
    """Read a description. Raises ``Error`` with the place and the fault. Equal descriptions return the same object."""
    reader = _Reader(text)
    found = reader.description(0)
    reader.end()
    return found


class _Reader:
    def __init__(self, text: str):
        self._text = text
        self._at = 0

    def description(self, depth: int) -> Description:
        if depth > _DEEPEST:
            raise Error(f"modules nested deeper than {_DEEPEST} levels")
        found = Description(self._take("name"))
        if self._peek("mark") != "(":
            return found
        self._take("mark")
        while self._peek("mark") != ")":
            child = _CHILD.match(self._text, self._at)
            if child:
                self._child(found, child, depth)
            else:
                self._argument(found)
            if self._peek("mark") == ",":
                self._take("mark")
            elif self._peek("mark") != ")" and not _CHILD.match(self._text, self._at):
                raise self._fault("expected , or )")
        self._take("mark")
        return found

    def _child(self, found: Description, match: re.Match[str], depth: int) -> None:
        self._at = match.end()
        key, times = match.groups()
        child = self.description(depth + 1)
        first, _, last = key.partition("-")
        if times and first.isdecimal() and last.isdecimal() and int(last) - int(first) < 100_000:
            found.children.update({str(number): child for number in range(int(first), int(last) + 1)})
        else:
            found.children[key] = child

    def _argument(self, found: Description) -> None:
        name = self._peek("name")
        if name is not None:
            start = self._at
            self._take("name")
            if self._peek("mark") == "=":
                self._take("mark")
                found.keywords[name] = self._value(0)
                return
            if name == "inplace":  # before PyTorch 1.2
                found.keywords[name] = "True"
                return
            self._at = start
        if found.keywords:
            raise self._fault("a positional value after a named one")
        found.args.append(self._value(0))

    def _value(self, depth: int) -> str:
        kind, text = self._next()
        if kind == "number":
            return text.lstrip("+") if text[-1].isdecimal() or text[-1] == "." else f"float({text!r})"
        if kind == "string":
            return repr(ast.literal_eval(text))
        if kind == "name":
            known = text in ("True", "False", "None") or re.fullmatch(r"torch\.[a-z]+\d*", text)
            return text if known else repr(text)
        if text in ("(", "[") and depth < _DEEPEST:
            return self._row(text, depth)
        raise self._fault(f"{text!r}", len(text))

    def _row(self, opened: str, depth: int) -> str:
        closed = ")" if opened == "(" else "]"
        values = []
        while self._peek("mark") != closed:
            values.append(self._value(depth + 1))
            if self._peek("mark") == ",":
                self._take("mark")
            elif self._peek("mark") != closed:
                raise self._fault(f"no {closed}")
        self._take("mark")
        alone = "," if opened == "(" and len(values) == 1 else ""
        return f"{opened}{', '.join(values)}{alone}{closed}"

    def end(self) -> None:
        if self._text[self._at :].strip():
            raise self._fault(f"unexpected text at the end: {self._text[self._at :].strip()[:20]!r}")

    def _next(self) -> tuple[str, str]:
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise self._fault("unexpected end")
        self._at = match.end()
        kind = match.lastgroup or ""
        return kind, match[kind]

    def _peek(self, kind: str) -> str | None:
        match = _TOKEN.match(self._text, self._at)
        return match[kind] if match else None

    def _take(self, kind: str) -> str:
        found, text = self._next()
        if found != kind:
            raise self._fault(f"{text!r} instead of a {kind}", len(text))
        return text

    def _fault(self, what: str, back: int = 0) -> Error:
        return Error(f"its description cannot be read at column {self._at - back + 1}: {what}")
