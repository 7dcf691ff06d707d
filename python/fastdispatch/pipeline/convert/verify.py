"""Run the stages of a package and the whole graph in one class on the same data, and compare bit for bit.

Stages run as on separate ranks: tensors between stages are detached, and their gradients are passed back. Gradients of
one tensor are added from the last stage to the first, as the engine adds them in one graph.
"""

import importlib.util
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.pipeline.convert import package
from fastdispatch.pipeline.convert.imports import Import
from fastdispatch.pipeline.convert.layer_graph import LayerGraph
from fastdispatch.pipeline.convert.samples import samples
from fastdispatch.pipeline.convert.stage_plans import Written, plan

_SEED = 20
_WHOLE = "the whole"


class FailedCheck(Error):
    """The package itself fails."""


@dataclass
class Verification:
    """Numbers of equal values, and one line per difference."""

    equal: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def check(self, kind: str, what: str, split: Any, whole: Any) -> None:
        """Two tensors; None is a gradient of zeros."""
        import torch

        if split is None and whole is None:
            return
        split, whole = (torch.zeros_like(b) if a is None else a for a, b in ((split, whole), (whole, split)))
        if split.shape != whole.shape or split.dtype != whole.dtype:
            self.faults.append(f"{what}: {_form(split)} in stages, {_form(whole)} in the whole model")
        elif not torch.equal(split.nan_to_num(), whole.nan_to_num()):
            worst = (split.double() - whole.double()).abs().max().item()
            self.faults.append(f"{what}: differs by up to {worst:.3g} of {whole.double().abs().max().item():.3g}")
        else:
            self.equal[kind] = self.equal.get(kind, 0) + 1

    def __str__(self) -> str:
        return ", ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in self.equal.items())


def _form(tensor: Any) -> str:
    return f"{'x'.join(map(str, tensor.shape)) or 'one'} {str(tensor.dtype).removeprefix('torch.')}"


def verify(
    folder: Path, written: Written, graph: LayerGraph, imports: Mapping[str, Import], inputs: str | None, *, train: bool
) -> Verification:
    """Compare the package in ``folder``, which may have been edited since it was written.

    ``inputs``: shapes of the model's inputs, ``2x3x32x32,4x8:int64:100``; guessed from the layers behind them if not
    given. ``train``: with dropout and batch statistics."""
    whole_plan = plan(graph, imports, whole=True)
    names = package.write(whole_plan, "Whole", "whole", None)
    with tempfile.TemporaryDirectory() as place:
        for name, text in names.files.items():
            (Path(place) / name).write_text(text, encoding="utf-8")
        whole = _model(Path(place), _WHOLE)[0][0]
    given = dict(zip(names.inputs.values(), samples(inputs, whole_plan), strict=True))
    verdict = Verification()
    try:
        _SplitComparison(_model(folder, str(folder)), written, whole, names, given, verdict).run(train=train)
    except FailedCheck as error:
        verdict.faults.append(str(error))
    return verdict


def _model(folder: Path, what: str) -> list[Any]:
    """The rows of ``model()`` without the criterion."""
    with _imported(folder, what) as module:
        return list(_guarded(what, lambda: module.model(None)))[:-1]


@contextmanager
def _imported(folder: Path, what: str) -> Iterator[Any]:
    """Import a package from any folder under a temporary name."""
    name = "_fastdispatch_verified"
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None or not (folder / "__init__.py").exists():
        raise Error(f"{folder}: no package: there is no __init__.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    here = str(Path.cwd())
    added = here not in sys.path
    sys.path[:0] = [here] if added else []
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader = spec.loader
        _guarded(what, lambda: loader.exec_module(module))
        yield module
    finally:
        sys.dont_write_bytecode = written
        if added:
            sys.path.remove(here)
        for each in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
            del sys.modules[each]


def _guarded(what: str, call: Any) -> Any:
    """Run code of the package; its errors are one line."""
    try:
        return call()
    except Exception as error:
        words = " ".join(str(error).split())
        raise (Error if what == _WHOLE else FailedCheck)(f"{what}: {type(error).__name__}: {words}") from None


def _run_whole(whole: Any, given: list[Any], count: int) -> tuple[list[Any], list[Any]]:
    """Return the results and their gradients."""
    import torch

    for tensor in given:
        tensor.requires_grad_(tensor.is_floating_point())
    torch.manual_seed(_SEED)
    result = _guarded(_WHOLE, lambda: whole(*given))
    results = [result] if count == 1 else [*result]
    for each in results:
        if not isinstance(each, torch.Tensor):
            raise Error(f"the whole model returns a {type(each).__name__}: only tensors can be compared")
    gradients = [torch.randn_like(each) if each.requires_grad else None for each in results]
    roots = [(a, g) for a, g in zip(results, gradients, strict=True) if g is not None]
    if roots:
        torch.autograd.backward(*map(list, zip(*roots, strict=True)))
    return results, gradients


@dataclass
class _BatchSplit:
    """Stages on their own: values by the names of ``model()``."""

    rows: list[Any]
    inputs: dict[str, Any]
    values: dict[str, Any] = field(default_factory=dict)
    #: Of each stage: what it read, detached, and what it gave.
    read: list[dict[str, Any]] = field(default_factory=list)
    gave: list[dict[str, Any]] = field(default_factory=list)
    gradients: dict[str, Any] = field(default_factory=dict)

    def forward(self) -> None:
        import torch

        self.values.update({name: value.detach() for name, value in self.inputs.items()})
        torch.manual_seed(_SEED)
        for index, (module, reads, gives) in enumerate(self.rows):
            for name in reads:
                if name not in self.values:
                    raise FailedCheck(f"stage {index}: reads {name}, which no earlier stage gives")
            leaves = {name: _leaf(self.values[name]) for name in reads}
            result = _guarded(f"stage {index}", lambda m=module, v=leaves: m(*v.values()))
            results = [result] if len(gives) == 1 else [*result] if isinstance(result, (tuple, list)) else []
            if len(results) != len(gives):
                raise FailedCheck(f"stage {index}: gives {len(results) or 1} values, model() lists {len(gives)}")
            self.read.append(leaves)
            self.gave.append(dict(zip(gives, results, strict=True)))
            self.values.update(self.gave[-1])

    def backward(self, gradients: Mapping[str, Any]) -> None:
        import torch

        shapes = {name: getattr(value, "shape", None) for name, value in self.values.items()}
        known = {name: value for name, value in gradients.items() if value is not None and value.shape == shapes[name]}
        for index in reversed(range(len(self.rows))):
            gave, read = self.gave[index], self.read[index]
            roots = [(gave[name], known[name]) for name in gave if name in known and gave[name].requires_grad]
            roots += [(leaf, known[name]) for name, leaf in read.items() if name in known and leaf.requires_grad]
            if roots:
                tensors, values = map(list, zip(*roots, strict=True))
                _guarded(f"stage {index}: backward", lambda t=tensors, v=values: torch.autograd.backward(t, v))
            for name, leaf in read.items():
                if isinstance(leaf, torch.Tensor) and leaf.grad is not None:
                    known[name] = leaf.grad
        self.gradients = known


def _leaf(value: Any) -> Any:
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().requires_grad_(value.is_floating_point() or value.is_complex())


@dataclass
class _SplitComparison:
    """The stages of a package, the rows of its ``model()``, and the whole model with the names of its package."""

    rows: list[Any]
    written: Written
    whole: Any
    names: Written
    given: Mapping[str, Any]  #: inputs by node
    verdict: Verification

    def __post_init__(self) -> None:
        self.stages = [row[0] for row in self.rows]

    def run(self, *, train: bool) -> None:
        """Run both."""
        import torch

        written, verdict = self.written, self.verdict
        self._share()
        self._copy_state()
        for module in (self.whole, *self.stages):
            module.train(train)
        nodes = list(self.names.outputs.values())
        results, gradients = _run_whole(self.whole, list(self.given.values()), len(nodes))
        expected = dict(zip(nodes, results, strict=True))
        order = dict(zip(nodes, gradients, strict=True))
        split = _BatchSplit(self.rows, {name: self.given[id] for name, id in written.inputs.items()})
        split.forward()
        for name, id in written.outputs.items():
            found = split.values.get(name)
            if not isinstance(found, torch.Tensor):
                verdict.faults.append(f"output {name}: is a {type(found).__name__}")
            else:
                verdict.check("output", f"output {name}", found, expected[id])
        split.backward({name: order[id] for name, id in written.outputs.items()})
        self._compare(split)

    def _entries(self) -> Iterator[tuple[str, int, str, str]]:
        """(node, stage, name of a parameter or buffer in it, its name in the whole)."""
        for id, places in self.written.layers.items():
            for stage, layer in places:
                for name in self.stages[stage].state_dict():
                    if name == layer or name.startswith(f"{layer}."):
                        yield id, stage, name, self.names.layers[id][0][1] + name[len(layer) :]

    def _share(self) -> None:
        """Equal values at all places of one parameter."""
        for (home, first), *others in self.written.shared:
            source = self.stages[home].state_dict()
            for stage, other in others:
                state = self.stages[stage].state_dict()
                for name, value in source.items():
                    if name == first or name.startswith(f"{first}."):
                        state[other + name[len(first) :]].copy_(value)

    def _copy_state(self) -> None:
        """The weights of the stages into the whole."""
        state = self.whole.state_dict()
        missing = set(state)
        for node, stage, name, own in self._entries():
            value = self.stages[stage].state_dict()[name]
            if own not in state or state[own].shape != value.shape:
                self.verdict.faults.append(f"stage {stage}: {name} is {_form(value)}, which {node} does not have")
            else:
                state[own].copy_(value)
                missing.discard(own)
        if missing:
            self.verdict.faults.append(f"no stage has the weights of {', '.join(sorted(missing)[:5])}")

    def _compare(self, split: _BatchSplit) -> None:
        """Gradients and buffers."""
        check = self.verdict.check
        for name, node in self.written.inputs.items():
            if self.given[node].requires_grad:
                check("input gradient", f"gradient of {name}", split.gradients.get(name), self.given[node].grad)
        expected = dict(self.whole.named_parameters(remove_duplicate=False))
        buffers = dict(self.whole.named_buffers(remove_duplicate=False))
        parts: dict[int, tuple[str, dict[int, Any]]] = {}  # by parameter of the whole: its name, gradients of stages
        for node, stage, name, own in self._entries():
            parameter = dict(self.stages[stage].named_parameters(remove_duplicate=False)).get(name)
            if parameter is not None and own in expected:
                parts.setdefault(id(expected[own]), (own, {}))[1][id(parameter)] = parameter.grad
            elif own in buffers:
                value = dict(self.stages[stage].named_buffers(remove_duplicate=False))[name]
                check("buffer", f"stage {stage}: {name} ({node})", value, buffers[own])
        for own, gradients in parts.values():
            total = None
            for each in reversed([gradient for gradient in gradients.values() if gradient is not None]):
                total = each if total is None else total + each
            check("parameter gradient", f"gradient of {own}", total, expected[own].grad)
