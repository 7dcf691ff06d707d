"""Facts of a pipeline engine: position of this process, its layers, matching rules.

Read once, in the first recorded iteration; the engine is not kept alive and not changed.
"""

import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from fastdispatch import _core
from fastdispatch.record import engine_rules  # noqa: F401 (adds them)

_VERSIONS = {"deepspeed": "deepspeed", "torch": "torch", "megatron": "megatron.core"}

PipelinePosition = tuple[int, int, int]  # this process, processes, stages with chunks; -1: unknown


class Engines:
    """The facts ``coordinates`` and ``pipeline`` of a recording."""

    def __init__(self, session: _core.Session, note: Callable[[dict[str, object]], None]) -> None:
        self._session = session
        self._note = note
        self._facts: dict[str, Any] = {}  # by the engine
        session.attach_pipeline(self.begin)

    def begin(self, what: tuple[str, object]) -> PipelinePosition | None:
        """Read the facts at the start of the first iteration: ``what`` is the engine's name and object, if any."""
        engine, owner = what
        describe = _DESCRIBE.get(engine)
        if describe is None:
            return None
        try:
            position, coordinates, self._facts = describe(owner)
        except Exception as error:  # attributes of another version; the program must not fail
            self._facts = {"note": f"the facts of the engine could not be read: {error!r}"}
            return None
        if coordinates:
            self._note({"coordinates": coordinates})
        return position

    def look(self) -> None:
        """Store the facts, after an iteration with new ones or at the end of the recording."""
        seen = self._session.pipeline()
        if seen is None or not (seen["iterations"] or any(rule[3] for rule in seen["rules"])):
            return
        engine = seen["engine"] if seen["iterations"] else "user"
        globals_, processes = seen["stages"], seen["processes"]
        facts: dict[str, object] = {
            "engine": engine,
            "version": _version(engine),
            "schedule": None,  # None: set by the reader
            "class": seen["class"] or None,
            "stages": processes or globals_,
            "chunks": globals_ // processes if globals_ and processes else None,
            "micro_batches": seen["micro_batches"],
            "held": [],
            "layers": [],
            "tied": {},
            "rules": _rules(engine, seen["rules"]),
            "difference": None,
            "note": None,
        }
        self._note({"pipeline": facts | self._facts})


def _version(engine: str) -> str | None:
    module = sys.modules.get(_VERSIONS.get(engine, ""))
    version = getattr(module, "__version__", None)
    return None if version is None else str(version)


def _rules(engine: str, rules: list[tuple[str, str, str, bool]]) -> dict[str, list[str]]:
    """Return the rules of the engine and the user that matched, and those whose function does not exist."""
    mine = [rule for rule in rules if rule[0] in (engine, "user")]
    matched = {name for _, _, name, did in mine if did}
    missing = {name for _, path, name, _ in mine if name not in matched and not _exists(path, name)}
    return {"matched": sorted(matched), "missing": sorted(missing)}


def _exists(path: str, name: str) -> bool:
    """Return whether a module loaded from ``path`` defines ``name``; True for names inside functions."""
    if "<locals>" in name:
        return True
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None) if isinstance(module, ModuleType) else None
        if isinstance(file, str) and f"/{file}".endswith(f"/{path.lstrip('/')}"):
            return _defines(vars(module), name.split("."))
    return False


def _defines(names: Mapping[str, object], parts: list[str]) -> bool:
    found = names.get(parts[0])
    if found is None or len(parts) == 1:
        return found is not None
    return isinstance(found, type) and _defines(vars(found), parts[1:])


Described = tuple[PipelinePosition | None, dict[str, int], dict[str, Any]]


def _deepspeed(engine: Any) -> Described:
    grid, module = engine.grid, engine.module
    parts = [int(part) for part in module.parts]
    names = [_layer_name(layer) for layer in module._layer_specs]
    stages = range(len(parts) - 1)
    layers = [
        {"stage": i, "first": parts[i], "end": parts[i + 1], "names": names[parts[i] : parts[i + 1]]} for i in stages
    ]
    tied: dict[str, list[int]] = {}
    for i in stages:
        keys = {str(layer.key) for layer in module._layer_specs[parts[i] : parts[i + 1]] if hasattr(layer, "key")}
        for key in sorted(keys):
            tied.setdefault(key, []).append(i)
    coordinates = {
        "pipe": int(grid.get_pipe_parallel_rank()),
        "data": int(grid.get_data_parallel_rank()),
        "model": int(grid.get_slice_parallel_rank()),
    }
    return None, coordinates, {"held": [int(engine.stage_id)], "layers": layers, "tied": tied}


def _layer_name(layer: Any) -> str:
    kind = getattr(layer, "typename", None)
    if kind is not None:
        return str(kind.__name__)
    name = getattr(layer, "__name__", None)  # of a function
    return str(name) if name is not None else type(layer).__name__


def _torch(schedule: Any) -> Described:
    stages = getattr(schedule, "_stages", None) or [schedule._stage]
    held = sorted(int(stage.stage_index) for stage in stages)
    coordinates = {"pipe": int(stages[0].group_rank)}
    modules = {int(stage.stage_index): _unwrapped(stage.submod) for stage in stages}
    layers = [_layers(stage, modules[stage]) for stage in held]
    known = {"held": held, "layers": layers, "tied": _tied(modules), "has_backward": bool(schedule._has_backward)}
    return None, coordinates, known


def _unwrapped(module: Any) -> Any:
    """Unwrap modules such as DistributedDataParallel, whose only child is ``module``."""
    while list(module._modules) == ["module"]:
        module = module._modules["module"]
    return module


def _layers(stage: int, module: Any) -> dict[str, Any]:
    """Return the children of a stage's module, including those of its lists. Their numbers in the model are unknown."""
    names = []
    for name, child in module._modules.items():
        if child is None:
            continue
        listed = type(child).__name__ in ("ModuleList", "ModuleDict", "Sequential")
        inside = {f"{name}.{key}": each for key, each in child._modules.items()} if listed else {name: child}
        names += [f"{path}: {type(each).__name__}" for path, each in inside.items()]
    return {"stage": stage, "first": None, "end": None, "names": names}


def _tied(modules: Mapping[int, Any]) -> dict[str, list[int]]:
    """Return parameters shared by several stages of this process, by their name in the first."""
    names: dict[int, str] = {}
    found: dict[int, list[int]] = {}
    for stage, module in sorted(modules.items()):
        for name, parameter in module.named_parameters():
            names.setdefault(id(parameter), name)
            found.setdefault(id(parameter), []).append(stage)
    return {names[key]: stages for key, stages in found.items() if len(stages) > 1}


def _megatron(model: Any) -> Described:
    state = sys.modules.get("megatron.core.parallel_state")
    if state is None or not state.model_parallel_is_initialized():
        return None, {}, {}
    position, processes = state.get_pipeline_model_parallel_rank(), state.get_pipeline_model_parallel_world_size()
    chunks = state.get_virtual_pipeline_model_parallel_world_size() or 1
    coordinates = {
        "pipe": position,
        "data": state.get_data_parallel_rank(),
        "model": state.get_tensor_model_parallel_rank(),
    }
    held = [position + chunk * processes for chunk in range(chunks)]
    known: dict[str, Any] = {"held": held}
    if model is not None:
        parts = [_unwrapped(part) for part in (model if isinstance(model, list) else [model])]
        known["layers"] = [_decoder_layers(stage, part) for stage, part in zip(held, parts, strict=False)]
        shared = processes * chunks > 1 and getattr(parts[0], "share_embeddings_and_output_weights", False)
        known["tied"] = {"embedding": [0, processes * chunks - 1]} if shared else {}
        layout = getattr(getattr(parts[0], "config", None), "pipeline_model_parallel_layout", None)
        known |= {} if layout is None else {"layout": str(layout)}
    return (position, processes, processes * chunks), coordinates, known


def _decoder_layers(stage: int, module: Any) -> dict[str, Any]:
    """Return the numbered layers of Megatron's decoder; for another model its children."""
    decoder = module._modules.get("decoder")
    if decoder is None or "layers" not in decoder._modules:
        return _layers(stage, module)
    layers = [layer for layer in decoder._modules["layers"]._modules.values() if hasattr(layer, "layer_number")]
    numbers = [int(layer.layer_number) - 1 for layer in layers]
    return {
        "stage": stage,
        "first": min(numbers, default=None),
        "end": max(numbers) + 1 if numbers else None,
        "names": [type(layer).__name__ for layer in layers],
        "also": [name for name in ("embedding", "output_layer") if module._modules.get(name) is not None],
    }


_DESCRIBE: dict[str, Callable[[Any], Described]] = {"deepspeed": _deepspeed, "torch": _torch, "megatron": _megatron}
