"""Operators of nodes: the expression that computes a node, its declarations, and its use of memory."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fastdispatch._core import Error
from fastdispatch.pipeline.convert.calls import LayerCall
from fastdispatch.pipeline.convert.constructors import CONSTRUCTORS
from fastdispatch.pipeline.convert.describe import Description, describe
from fastdispatch.pipeline.convert.imports import Import
from fastdispatch.pipeline.graph import Node

#: Modules whose results never share memory with what they are given.
_FRESH = re.compile(
    r"(Linear|Bilinear|Conv\w+|BatchNorm\w+|LayerNorm|GroupNorm|InstanceNorm\w+|RMSNorm|Embedding\w*|LSTM|GRU|RNN|\w+Cell"
    r"|(Max|Avg|LP)Pool\w+|ReLU6?|Sigmoid|Tanh|GELU|SiLU|Mish|E?LU|SELU|CELU|LeakyReLU|Softmax\w*|LogSoftmax|Softplus)"
)
_TUPLES = {"LSTM", "GRU", "RNN", "LSTMCell", "MultiheadAttention"}


@dataclass(frozen=True)
class Operator:
    """``text`` computes the node: ``{0}`` is its first input, ``{layer}`` what ``declare`` makes."""

    text: Callable[[Sequence[str], str], str]
    declare: str | None = None
    imports: frozenset[str] = frozenset()
    #: tensor, tuple, number, none, or any: not known.
    kind: str = "tensor"
    #: Which input it overwrites.
    writes: int | None = None
    #: Its result may lie in the memory of an input.
    shares: bool = False
    #: It is a buffer of the stage and no module.
    buffer: bool = False


def operator(node: Node, sources: Sequence[Node], imports: Mapping[str, Import]) -> Operator:
    """The operator of a node. An ``Error`` names the node and the reason why it cannot be converted."""
    try:
        return _operator(node, sources, imports)
    except Error as error:
        raise Error(f"{node}: cannot be converted: {error}") from None


#: Whether one of the rules may fit.
_RULED = re.compile(r"Size|View|__getitem__|Add|Mul|Concat|Transpose|hidden|self\.|Parameter|Buffer")


def _operator(node: Node, sources: Sequence[Node], imports: Mapping[str, Import]) -> Operator:
    text = node.about.get("call")
    if isinstance(text, str) and text and not text.startswith("("):
        return _expression(LayerCall(text), len(sources))
    if _RULED.match(node.name):
        for pattern, rule in _RULES.items():
            found = re.fullmatch(pattern, node.name)
            if found:
                return rule(found, sources)
    if _is_call(node.name):
        return _expression(LayerCall(node.name), len(sources))
    return _module(node, describe(node.name), len(sources), imports)


def _is_call(desc: str) -> bool:
    return re.search(r"%\d", re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "", desc)) is not None


def _expression(call: LayerCall, inputs: int) -> Operator:
    _check_uses(call, inputs)
    kind = "number" if call.is_size else "any"
    return Operator(lambda names, layer: call.source(names), kind=kind, writes=call.written, shares=True)


def _check_uses(call: LayerCall, inputs: int) -> None:
    if call.uses and call.uses[-1] >= inputs:
        raise Error(f"its call reads %{call.uses[-1]}, it has {_count(inputs, 'input')}")


def _module(node: Node, found: Description, inputs: int, imports: Mapping[str, Import]) -> Operator:
    """A module that is declared and called."""
    needed: set[str] = set()
    declare = declaration(found, imports, needed)
    inplace = found.keywords.get("inplace") == "True"
    own = found.name not in imports and _FRESH.fullmatch(found.name) is not None
    known = {"kind": "tuple" if found.name in _TUPLES else "any" if found.name in imports else "tensor"}
    written = 0 if inplace and inputs else None
    pattern = node.about.get("call")
    if isinstance(pattern, str) and pattern:
        call = LayerCall(pattern, "self._fd_layer")
        _check_uses(call, inputs)

        def text(names: Sequence[str], layer: str) -> str:
            return call.source(names).replace("self._fd_layer", layer, 1)
    else:

        def text(names: Sequence[str], layer: str) -> str:
            return f"{layer}({', '.join(names)})"

    return Operator(text, declare, frozenset(needed), known["kind"], written, shares=not own or inplace)


def declaration(found: Description, imports: Mapping[str, Import], needed: set[str]) -> str:
    """Return the call of the constructor, and add its imports to ``needed``."""
    if found.name in imports:
        given = imports[found.name]
        needed.add(given.statement)
        return given.construct(found, lambda child: declaration(child, imports, needed))
    if found.name == "Sequential":
        return (
            f"torch.nn.Sequential({', '.join(declaration(each, imports, needed) for each in found.children.values())})"
        )
    known = CONSTRUCTORS.get(found.name)
    if known is None:
        raise Error(f"torch.nn has no {found.name} that can be constructed from a description: {_hint(found.name)}")
    keywords = {key: value for key, value in found.keywords.items() if key not in known.shown_only}
    fault = known.fault(len(found.args), keywords)
    if fault:
        raise Error(f"{fault}: {_hint(found.name)}")
    return f"torch.nn.{found.name}({arguments(found.args, keywords)})"


def arguments(args: Sequence[str], keywords: Mapping[str, str]) -> str:
    return ", ".join([*args, *(f"{key}={value}" for key, value in keywords.items())])


def _hint(name: str) -> str:
    return f"give its constructor with --import {name}=MODULE:CLASS(ARGUMENTS)"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _need(sources: Sequence[Node], least: int, most: int | None = None) -> None:
    if len(sources) < least or (most is not None and len(sources) > most):
        allowed = str(least) if most == least else f"at least {least}" if most is None else f"{least} to {most}"
        raise Error(f"it has {_count(len(sources), 'input')}, not {allowed}")


def _plain(text: str, **facts: object) -> Operator:
    return Operator(lambda names, layer: text.format(*names, layer=layer), **facts)  # type: ignore[arg-type]


def _size(found: re.Match[str], sources: Sequence[Node]) -> Operator:
    _need(sources, 1, 1)
    return _plain(f"{{0}}.size({found[1]})", kind="number")


def _view(found: re.Match[str], sources: Sequence[Node]) -> Operator:
    sizes = [index for index, source in enumerate(sources) if source.name.startswith("Size")]
    data = [index for index in range(len(sources)) if index not in sizes]
    if len(data) != 1:
        raise Error(f"it has {_count(len(data), 'input')} that are not sizes, not 1")
    if not sizes:
        raise Error("its first size was a number, which its description omits; write %0.view(...) in its place")
    numbers = [each.strip() for each in found[1].split(",") if each.strip()]
    shape = ", ".join([*(f"{{{index}}}" for index in sizes), *numbers])
    return _plain(f"{{{data[0]}}}.view({shape})", shares=True)


def _item(found: re.Match[str], sources: Sequence[Node]) -> Operator:
    _need(sources, 1, 1)
    if sources[0].name.startswith("hidden"):
        return _plain("None", kind="none")
    return _plain(f"{{0}}[{found[1]}]", kind="any", shares=True)


def _arithmetic(sign: str) -> Callable[[re.Match[str], Sequence[Node]], Operator]:
    def rule(found: re.Match[str], sources: Sequence[Node]) -> Operator:
        _need(sources, 2)
        return _plain(f" {sign} ".join(f"{{{index}}}" for index in range(len(sources))))

    return rule


def _concat(found: re.Match[str], sources: Sequence[Node]) -> Operator:
    _need(sources, 1)
    values = ", ".join(f"{{{index}}}" for index in range(len(sources)))
    return _plain(f"torch.cat([{values}], {found[1]})")


def _transpose(found: re.Match[str], sources: Sequence[Node]) -> Operator:
    _need(sources, 1, 1)
    return _plain(f"{{0}}.transpose({found[1]})", shares=True)


def _hidden(found: re.Match[str], sources: Sequence[Node]) -> Operator:
    return _plain("None", kind="none")


def _lengths(found: re.Match[str], sources: Sequence[Node]) -> Operator:
    _need(sources, 1, 1)
    return _plain("self.get_seq_lens({0})")


def _parameter(found: re.Match[str], sources: Sequence[Node]) -> Operator:
    kind, shape, dtype = found["kind"], found["shape"], found["dtype"] or "float32"
    makes = "zeros" if kind == "Buffer" or not dtype.startswith(("float", "bfloat")) else "randn"
    values = f"torch.{makes}({shape.strip() or '()'}, dtype=torch.{dtype})"
    declare = values if kind == "Buffer" else f"torch.nn.Parameter({values})"
    return _plain("{layer}", declare=declare, shares=True, buffer=kind == "Buffer")


_NUMBER = r"-?\d+"
_ROW = rf"(?:{_NUMBER}(?:,\s*{_NUMBER})*,?)?"

_RULES: dict[str, Callable[[re.Match[str], Sequence[Node]], Operator]] = {
    rf"Size\(({_NUMBER})\)": _size,
    rf"View\(({_ROW})\)": _view,
    rf"__getitem__\(({_NUMBER}|'\w*')\)": _item,
    r"Add(?:\(inplace(?:=True)?\))?": _arithmetic("+"),
    r"Mul(?:\(inplace(?:=True)?\))?": _arithmetic("*"),
    rf"Concat\(({_NUMBER})\)": _concat,
    rf"Transpose\(({_NUMBER},\s*{_NUMBER})\)": _transpose,
    r"hidden.*": _hidden,
    r"self\.get_seq_lens": _lengths,
    rf"(?P<kind>Parameter|Buffer)\((?P<shape>{_ROW})(?:,?\s*dtype=torch\.(?P<dtype>\w+))?\)": _parameter,
}
