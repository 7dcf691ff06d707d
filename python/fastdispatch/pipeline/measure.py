"""``profile``: a graph of layers, measured (docs/guides/pipeline-profile.md).

The model is watched from outside for some steps: forward hooks on its leaf modules, a torch function mode for what runs
between them, hooks on autograd nodes for backward. Tensors stay what they are; all is taken off at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode, resolve_name

from fastdispatch import _core
from fastdispatch.models import is_leaf
from fastdispatch.pipeline.call_text import function_call, module_call
from fastdispatch.pipeline.graph import Graph
from fastdispatch.pipeline.watched import Makers, Owned, Watched, graph_of

_SIGNS = {"add": "Add", "__add__": "Add", "__radd__": "Add", "__iadd__": "Add(inplace)", "add_": "Add(inplace)"}
_SIGNS |= {"mul": "Mul", "__mul__": "Mul", "__rmul__": "Mul"}


def _tensors(value: Any) -> Iterator[Tensor]:
    """All tensors in arguments or results, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)
    elif hasattr(value, "__dataclass_fields__"):
        yield from _tensors(vars(value))


def _placed(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Tensor]]:
    """All tensors in a result, each with the items that lead to it."""
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _placed(item, (*path, key))
    elif isinstance(value, (tuple, list)):
        for place, item in enumerate(value):
            yield from _placed(item, (*path, place))
    else:
        yield from ((path, tensor) for tensor in _tensors(value))


def _has_tensors(value: Any) -> bool:
    return next(_tensors(value), None) is not None


def _bytes(tensor: Tensor) -> int:
    return int(tensor.numel() * tensor.element_size())


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _owned(tensor: Tensor) -> Owned:
    return Owned(id(tensor), _dtype(tensor), _bytes(tensor))


def _function_name(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    name = getattr(function, "__name__", "") or str(resolve_name(function))
    plain = [each for each in args if not _has_tensors(each)]
    if name in _SIGNS and not plain and not kwargs:
        return _SIGNS[name]
    if name in ("cat", "concat", "concatenate"):
        return f"Concat({kwargs.get('dim', args[1] if len(args) > 1 else 0)})"
    if name == "__getitem__":
        return f"__getitem__({args[1]!r})"
    if name == "transpose":
        return f"Transpose({', '.join(map(repr, plain))})"
    told = [repr(each) for each in plain] + [
        f"{key}={each!r}" for key, each in kwargs.items() if not _has_tensors(each)
    ]
    return f"{name}({', '.join(told)})"


class _Watch(TorchFunctionMode):  # type: ignore[misc]
    """One step of a model."""

    def __init__(self, model: nn.Module, saves: bool) -> None:
        super().__init__()
        self._made = Makers()
        self.layers = self._made.layers
        self._saves = saves
        self._open: list[tuple[Watched, float]] = []
        self._kept = 0
        self._alive: list[Any] = []  # ids stay those of these objects
        self._owned: set[Any] = set()
        self._parameters = {id(each): name for name, each in model.named_parameters()}
        self._buffers = {id(each) for each in model.buffers()}
        self._stored = {each.untyped_storage().data_ptr() for each in model.parameters()}
        self._names = {id(module): name for name, module in model.named_modules()}
        self._cuda = any(each.is_cuda for each in model.parameters())

    def now(self) -> float:
        if self._cuda:
            torch.cuda.synchronize()
        return time.perf_counter()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if self._open or getattr(func, "__name__", "") in ("__get__", "__set__", "backward"):
            return func(*args, **kwargs)
        begin = self.now()
        result = func(*args, **kwargs)
        end = self.now()
        if _has_tensors(result):
            taken = [*_tensors(args), *_tensors(kwargs)]
            layer = self._layer(_function_name(func, args, kwargs), taken)
            layer.call = function_call(func, args, kwargs, self._is_edge)
            layer.forward = (end - begin) * 1e3
            self._finish(layer, result, taken)
        return result

    def enter(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        if not self._open:
            layer = self._layer(repr(module), [*_tensors(args), *_tensors(kwargs)])
            layer.module = self._names.get(id(module), "")
            layer.call = module_call(args, kwargs, self._is_edge)
            layer.tied = self._tied(module, layer.module)
            layer.parameters += map(_owned, module.parameters())
            layer.buffers += map(_owned, module.buffers())
            self._open.append((layer, self.now()))
        else:
            self._open.append(self._open[-1])

    def _is_edge(self, tensor: Tensor) -> bool:
        return id(tensor) not in self._parameters and id(tensor) not in self._buffers

    def _tied(self, module: nn.Module, path: str) -> dict[str, str]:
        """Parameters that have another name in the model: their first."""
        firsts = {name: self._parameters[id(each)] for name, each in module.named_parameters()}
        return {name: first for name, first in firsts.items() if first != f"{path}.{name}".lstrip(".")}

    def leave(self, module: nn.Module, args: Any, kwargs: Any, result: Any) -> None:
        layer, begin = self._open.pop()
        if not self._open:
            layer.forward = (self.now() - begin) * 1e3
            self._finish(layer, result, [*_tensors(args), *_tensors(kwargs)])

    def pack(self, tensor: Tensor) -> Tensor:
        if self._saves and tensor.untyped_storage().data_ptr() not in self._stored:
            self._stored.add(tensor.untyped_storage().data_ptr())
            self._kept += tensor.untyped_storage().nbytes()
        return tensor.detach()

    def _layer(self, name: str, taken: list[Tensor]) -> Watched:
        inputs: list[int] = []
        layer = Watched(name, inputs)
        for tensor in taken:
            if id(tensor) in self._parameters:
                layer.parameters.append(_owned(tensor))
            elif id(tensor) in self._buffers:
                layer.buffers.append(_owned(tensor))
            else:
                inputs.append(self._maker(tensor))
        return layer

    def _maker(self, tensor: Tensor) -> int:
        self._alive.append(tensor)
        return self._made.of(id(tensor), _bytes(tensor), _dtype(tensor), tensor.shape)

    def _finish(self, layer: Watched, result: Any, taken: list[Tensor]) -> None:
        place = len(self.layers)
        self.layers.append(layer)
        layer.saved, self._kept = self._kept, 0
        for path, tensor in _placed(result):
            self._made.gives(place, id(tensor), path, _bytes(tensor), _dtype(tensor))
            self._alive.append(tensor)
            self._own(layer, tensor.grad_fn)

    def _own(self, layer: Watched, first: Any) -> None:
        """The autograd nodes that the layer made: those nobody has yet."""
        todo = [first]
        while todo:
            node = todo.pop()
            if node is None or node in self._owned:
                continue
            self._owned.add(node)
            begun: list[float] = []
            node.register_prehook(lambda grads, begun=begun: begun.append(self.now()))
            node.register_hook(lambda inputs, grads, begun=begun: self._spent(layer, begun))
            todo += [following for following, _ in node.next_functions]

    def _spent(self, layer: Watched, begun: list[float]) -> None:
        if begun:
            layer.backward += (self.now() - begun.pop()) * 1e3


@contextmanager
def _watching(model: nn.Module, saves: bool) -> Iterator[_Watch]:
    watch = _Watch(model, saves)
    with ExitStack() as stack:
        for module in model.modules():
            if is_leaf(module):
                before = module.register_forward_pre_hook(watch.enter, with_kwargs=True, prepend=True)
                after = module.register_forward_hook(watch.leave, with_kwargs=True)
                stack.callback(before.remove)
                stack.callback(after.remove)
        if saves:
            stack.enter_context(torch.autograd.graph.saved_tensors_hooks(watch.pack, lambda tensor: tensor))
        stack.enter_context(watch)
        yield watch


@contextmanager
def _left_as_it_was(model: nn.Module) -> Iterator[None]:
    """Gradients, buffers and random numbers."""
    grads = [(each, each.grad) for each in model.parameters()]
    buffers = [(each, each.clone()) for each in model.buffers()]
    with torch.random.fork_rng():
        try:
            yield
        finally:
            for parameter, grad in grads:
                parameter.grad = grad
            with torch.no_grad():
                for buffer, value in buffers:
                    buffer.copy_(value)


def _sum(result: Any) -> Tensor:
    parts = [each.float().sum() for each in _tensors(result) if each.requires_grad]
    if not parts:
        raise _core.Error("profile: no output of the model needs a gradient: give a loss")
    return torch.stack(parts).sum()


def profile(
    model: nn.Module,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    loss: Callable[[Any], Tensor] | None = None,
    steps: int = 5,
    warmup: int = 2,
) -> Graph:
    """The graph of a model with what its layers took, over ``steps`` steps of forward and backward.

    Parameters
    ----------
    model, args, kwargs:
        What is called, and with what.
    loss:
        Makes the tensor to go backward from out of what the model returns. By default the sum of its outputs.
    steps, warmup:
        Steps that count, after steps that do not.

    Gradients, buffers and random numbers are left as they were. Raises :class:`fastdispatch.Error` for a model whose
    steps differ.
    """
    if steps < 1 or warmup < 0:
        raise _core.Error(f"profile: {steps} steps after {warmup}: at least 1 after 0")
    watched: list[list[Watched]] = []
    with _left_as_it_was(model):
        for step in range(warmup + 1 + steps):
            for parameter in model.parameters():
                parameter.grad = None
            saves = step == warmup
            with _watching(model, saves) as watch:
                result = model(*args, **(kwargs or {}))
            (loss or _sum)(result).backward()
            if step >= warmup:
                watched.append(watch.layers)
    return graph_of(watched[0], watched[1:])
