"""Options of pictures of a call graph."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fastdispatch._core import ArgumentError

_WORDS = {"style": ("default", "classic"), "weight": ("time", "calls", "gpu", None), "ops": ("none", "top", "all")}


@dataclass(frozen=True)
class PictureOptions:
    """The options of ``fastdispatch svg``. Unknown words raise ``ArgumentError``."""

    rank: int | None = None  #: number of a rank; None: the sum over all
    style: Literal["default", "classic"] = "default"
    weight: Literal["time", "calls", "gpu"] | None = None  #: None: gpu if kernels were recorded, else time
    ops: Literal["none", "top", "all"] = "none"
    hide: Sequence[str] = ()  #: globs of functions to delete, with their edges
    contract: Sequence[str] = ()  #: globs of functions to contract: their callees become callees of their callers
    min_percent: float | None = None  #: of the time; functions below it are contracted
    all: bool = False  #: no function is folded

    def __post_init__(self) -> None:
        for name, words in _WORDS.items():
            value = getattr(self, name)
            if value not in words:
                known = " or ".join(filter(None, words))
                raise ArgumentError(f"{name}={value}: a picture has {name}={known}")

    @property
    def folds(self) -> bool:
        """Whether functions between calls of the user's code are folded."""
        return self.style == "default" and not self.all
