"""Which calls are timed on the GPU, and in which steps."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastdispatch import _core
from fastdispatch._core import Error

if TYPE_CHECKING:
    from fastdispatch._core import Session

#: The longest wait for the GPU at the end of a recording.
PATIENCE_MS = 2000

_MODES = {"off": 0, "auto": 1, "require": 2}
_KINDS = ("ops", "modules", "functions", "jobs")


@dataclass(frozen=True)
class Gpu:
    """GPU intervals: the time that a CUDA stream takes from the begin of a call to its end (docs/guides/gpu.md).

    Parameters
    ----------
    contexts:
        Which calls, with commas (or ``+``) between them: ``ops`` (operators and autograd nodes), ``modules`` (forward
        of ``nn.Module``), ``functions`` (all Python calls), ``jobs``, or globs of keys and names (``*:[Block]:*``).
    every:
        In one step out of so many: steps 1, 1 + every, 1 + 2 * every, ... of each recorded window, which begins with
        step 0. ``1`` is all steps.
    require:
        Refuse to start where there is no GPU to use, as ``gpu="require"`` does.

    Raises :class:`fastdispatch.Error` for what is none of these.
    """

    contexts: str = "ops"
    every: int = 100
    require: bool = False

    def __post_init__(self) -> None:
        if not self.parts() or not all(self.parts()):
            raise Error(f"gpu contexts={self.contexts!r}: write {', '.join(_KINDS)} or globs, with commas between them")
        for part in self.parts():
            if part not in _KINDS and not set(part) & set("*?:"):
                raise Error(f"gpu contexts={part!r}: one of {', '.join(_KINDS)}, or a glob such as *:[Block]:*")
        if not 1 <= self.every < 2**31:
            raise Error(f"gpu every={self.every}: one step out of how many, 1 or more")

    def parts(self) -> list[str]:
        return [part.strip() for part in re.split(r"[,+]", self.contexts)]

    @property
    def text(self) -> str:
        """As :func:`gpu_of` takes it."""
        return ("require:" if self.require else "") + f"{'+'.join(self.parts())}@{self.every}"

    def check(self) -> None:
        """Raises Error where a GPU is required and none can be had. Calls nothing of CUDA's but through PyTorch."""
        if not self.require:
            return
        try:
            _core.gpu_runtime()
        except Error as error:
            raise Error(
                f"gpu='require': {error} in this process: import a PyTorch built for CUDA first, or use gpu='auto'"
            ) from None
        if not _is_available():
            raise Error("gpu='require': PyTorch has no GPU to use (torch.cuda.is_available() is false): use gpu='auto'")

    def attach(self, session: Session) -> None:
        """Tell a session that has not been started."""
        parts = self.parts()
        globs = [part for part in parts if part not in _KINDS]
        ops, modules, functions, jobs = (kind in parts for kind in _KINDS)
        session.sample_gpu(self.every, (ops, modules, functions, jobs), globs, is_in_use)


def gpu_of(value: str | Gpu, every: int = Gpu.every) -> Gpu | None:
    """What ``CallGraph(gpu=...)`` was given; None for none. Text: a mode, ``CONTEXTS@EVERY``, or ``require:`` before
    that; ``every`` is for what does not say in which steps."""
    if isinstance(value, Gpu):
        return value
    if value in _MODES:
        return None if value == "off" else Gpu(every=every, require=value == "require")
    required, contexts = value.startswith("require:"), value.removeprefix("require:")
    contexts, at, given = contexts.partition("@")
    if at and re.fullmatch(r"\d{1,10}", given, re.ASCII) is None:
        raise Error(f"gpu={value!r}: one of {', '.join(_MODES)}, or contexts and every, like ops+modules@10")
    return Gpu(contexts, int(given) if at else every, required)


def is_in_use() -> bool:
    """Whether the program has begun to use CUDA through PyTorch. Never begins itself."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda is not None and bool(cuda.is_initialized())


def _is_available() -> bool:
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda is not None and bool(cuda.is_available())
