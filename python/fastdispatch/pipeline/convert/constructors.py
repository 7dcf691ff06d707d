"""Parameters of torch.nn's constructors, to check descriptions without PyTorch."""

from collections.abc import Iterable
from functools import cached_property

from fastdispatch.pipeline.convert.templates import table

#: Fields of the description of a class that are not parameters of its constructor.
_SHOWN_ONLY = {"UpsamplingBilinear2d": {"mode"}, "UpsamplingNearest2d": {"mode"}}


class Constructor:
    """The parameters of one class."""

    def __init__(self, name: str, parameters: str):
        self.name = name
        self._text = parameters

    @cached_property
    def parameters(self) -> list[str]:
        return [each.rstrip("?") for each in self._text.split()]

    @cached_property
    def required(self) -> list[str]:
        return [each for each in self._text.split() if not each.endswith("?")]

    @property
    def shown_only(self) -> set[str]:
        return _SHOWN_ONLY.get(self.name, set())

    def fault(self, positional: int, keywords: Iterable[str]) -> str | None:
        """Return the error of a call, or None."""
        given = [*self.parameters[:positional], *keywords]
        if positional > len(self.parameters):
            return f"torch.nn.{self.name} accepts at most {len(self.parameters)} arguments"
        for index, name in enumerate(given):
            if name not in self.parameters:
                return f"torch.nn.{self.name} does not accept {name}"
            if name in given[:index]:
                return f"{name} is given twice"
        missing = [name for name in self.required if name not in given]
        return f"its description lacks {' and '.join(missing)}" if missing else None


def _read() -> dict[str, Constructor]:
    """Read the table: classes with the same parameters, then these; a question mark marks optional ones."""
    found = {}
    for row in table("constructors").replace("\n    ", " ").splitlines():
        names, _, parameters = row.partition(":")
        found.update({name: Constructor(name, parameters) for name in names.split()})
    return found


CONSTRUCTORS = _read()
