"""Partitions in the formats of other programs."""

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

from fastdispatch._core import Error
from fastdispatch.pipeline.layers import layers_of
from fastdispatch.pipeline.partition import Partition, stage_report


def with_parts(module: type[Any], parts: Sequence[int]) -> type[Any]:
    """Return a subclass of ``module`` (DeepSpeed's ``PipelineModule`` or derived from it) that is cut at ``parts``.

    They print their layers as DeepSpeed does, and do not use the ``partition_method`` they are given. Making one raises
    :class:`fastdispatch.Error` where its stages or layers are not as many as those of ``parts``.
    """
    cuts = [int(part) for part in parts]

    def _partition_layers(self: Any, method: str = "") -> None:
        if len(cuts) != self.num_stages + 1 or cuts[-1] != len(self._layer_specs):
            had = f"{self.num_stages} stages of {len(self._layer_specs)} layers"
            raise Error(f"parts {cuts} are {len(cuts) - 1} stages of {cuts[-1]} layers, the model has {had}")
        self.parts = list(cuts)
        if self.global_rank == 0:
            layers = layers_of(self._layer_specs)
            print(stage_report(Partition("parts", layers, (), "", cuts), self.loss_fn), end="")
        stage = self._topo.get_coord(self.global_rank).pipe
        self._set_bounds(start=cuts[stage], stop=cuts[stage + 1])

    return type(module.__name__, (module,), {"_partition_layers": _partition_layers, "__module__": module.__module__})


def split_points(parts: Sequence[int], names: Sequence[str] | None = None) -> list[str]:
    """Return the first layer of each stage except the first, for ``torch.distributed.pipelining``:
    ``split_spec={name: SplitPoint.BEGINNING for name in split_points(parts)}``.

    ``names``: of the layers in the model, ``["layers.0", "layers.1", ...]``; None: ``0``, ``1``, as in an
    ``nn.Sequential``. :class:`fastdispatch.Error` for a stage without layers, which torch does not have.
    """
    for stage, (first, last) in enumerate(pairwise(parts)):
        if first == last:
            raise Error(f"stage {stage} has no layers: torch needs one in each")
    return [str(part) if names is None else names[part] for part in parts[1:-1]]


def megatron_layout(parts: Sequence[int], kinds: str | None = None) -> str:
    """Return the value of Megatron's ``--pipeline-model-parallel-layout``: ``Et*3|t*4|t*2L``.

    ``kinds``: a letter a layer, ``E`` embedding, ``t`` transformer layer, ``m`` multi-token prediction, ``L`` loss.
    None: all are transformer layers, the first stage has the embedding besides and the last the loss.
    """
    letters = "t" * parts[-1] if kinds is None else kinds
    if len(letters) != parts[-1] or set(letters) - set("EtmL"):
        raise Error(f"kinds {letters!r}: one letter of E, t, m, L for each of {parts[-1]} layers")
    stages = [letters[first:last] for first, last in pairwise(parts)]
    if kinds is None:
        stages[0] = f"E{stages[0]}"
        stages[-1] += "L"
    return "|".join(map(_shortened, stages))


def _shortened(stage: str) -> str:
    runs = [(letter, len(list(run))) for letter, run in groupby(stage)]
    return "".join(f"{letter}*{count}" if count > 3 else letter * count for letter, count in runs)
