"""Options of pictures of a call graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args, get_type_hints

from fastdispatch._core import ArgumentError


@dataclass(frozen=True)
class PictureOptions:
    """The options of ``fastdispatch svg``. Unknown words raise ``ArgumentError``."""

    rank: int | None = None  #: number of a rank; None: the sum over all
    style: Literal["default", "classic"] = "default"
    weight: Literal["time", "calls"] = "time"
    ops: Literal["none", "top", "all"] = "none"
    hide: Sequence[str] = ()  #: globs of functions to delete, with their edges
    contract: Sequence[str] = ()  #: globs of functions to contract: their callees become callees of their callers
    min_percent: float | None = None  #: of the time; functions below it are contracted
    all: bool = False  #: no function is folded

    def __post_init__(self) -> None:
        for name in ("style", "weight", "ops"):
            value, known = getattr(self, name), get_args(get_type_hints(PictureOptions)[name])
            if value not in known:
                raise ArgumentError(f"{name}={value}: a picture has {name}={' or '.join(known)}")

    @property
    def folds(self) -> bool:
        """Whether functions between calls of the user's code are folded."""
        return self.style == "default" and not self.all
