"""Arguments of a command as a table, in the layout of its help."""

import re
from typing import Any, Protocol


class _Arguments(Protocol):
    """A parser, or a group of its arguments."""

    def add_argument(self, *names: str, **about: Any) -> Any: ...


#: ``-n, --name VALUE  help``: the value, its braces and dots are those of usage lines.
_ROW = re.compile(r"([^\s,]+(?:, [^\s,]+)*)(?: (\[)?(\S+?)((?<!,)\.\.\.)?(?(2)\]))?  +(.+)", re.DOTALL)
_NARGS = {("[", None): "?", (None, "..."): "+", ("[", "..."): "*"}


def add_options(parser: _Arguments, table: str, **about: Any) -> None:
    """Add the arguments of a table, one per row; further lines of a row are indented.

    ``--top N  help`` is an option with a value, ``--by {module,package}  help`` lists its choices, ``--all  help`` is a
    flag, and ``path PATH  help`` an argument without a dash. ``[N]`` may be omitted, ``N...`` repeats.

    ``about``: by destination the type of an argument, or a dictionary of arguments of ``add_argument``.
    """
    for row in re.split(r"\n(?=\S)", table.strip()):
        match = _ROW.fullmatch(row)
        assert match is not None, row
        names, (opening, value, dots, words) = match[1].split(", "), match.groups()[1:]
        given: dict[str, Any] = {"help": " ".join(words.split())}
        if value is None:
            given["action"] = "store_true"
        elif value.startswith("{"):
            given["choices"] = tuple(value[1:-1].split(","))
        else:
            given["metavar"] = value
        if opening or dots:
            given["nargs"] = _NARGS[opening, dots]
        long = [name for name in names if name.startswith("--")] or names
        more = about.get(long[0].lstrip("-").replace("-", "_"), {})
        parser.add_argument(*names, **given | (more if isinstance(more, dict) else {"type": more}))
