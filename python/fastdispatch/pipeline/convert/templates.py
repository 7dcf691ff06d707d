"""The texts of generated files: Jinja templates in ``programs/``; and tables of names in ``tables/``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2


@dataclass
class ModuleText:
    """A module class in the form of the published converter: the fields of ``stage.py.j2``."""

    name: str
    inputs: Sequence[str]
    declarations: Sequence[str]
    statements: Sequence[str]
    imports: Sequence[str]
    mask: str = ""  #: layer of the masked convolution, if the class has ``get_seq_lens``

    def __str__(self) -> str:
        return render("stage.py", **asdict(self))


def render(file: str, /, **fields: Any) -> str:
    """Return a generated file."""
    return _environment().get_template(f"{file}.j2").render(fields)


def table(name: str) -> str:
    """Return the text of a table of names."""
    return files("fastdispatch.pipeline.convert").joinpath("tables", f"{name}.txt").read_text()


@cache
def _environment() -> jinja2.Environment:
    import jinja2  # only conversions need it, and not every installation has it

    loader = jinja2.PackageLoader("fastdispatch.pipeline.convert", "programs")
    found = jinja2.Environment(
        loader=loader, trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined
    )
    found.filters["rows"] = _rows
    return found


def _rows(values: Sequence[object]) -> str:
    """Return the inside of a tuple, one entry per line."""
    return "".join(f"\n    {value!r}," for value in values) + "\n" if values else ""


def init(arch: str, name: str, stages: int, rows: Sequence[str], loss: str) -> str:
    """Return ``__init__.py``. ``rows``: of ``model()``, one per stage; ``loss``: the output that the criterion gets."""
    imports = [f"from .{arch} import {name}", *(f"from .stage{index} import Stage{index}" for index in range(stages))]
    model = [*rows, f'(criterion, ["{loss}"], ["loss"])']
    return render("__init__.py", imports=imports, arch=arch, model=model, name=name)
