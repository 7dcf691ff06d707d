"""Names of variables, layers and inputs in generated code: the number of the node, where every node has one."""

import keyword
import re
from collections.abc import Sequence

from fastdispatch._core import Error
from fastdispatch.pipeline.convert.layer_graph import LayerGraph, in_order

_TAKEN = {"torch", "arch", "model", "full_model", "criterion", "weights"}


class Names:
    """One number per node: ``out12``, ``layer12``; inputs of the model are ``input0``, ``input1`` ..."""

    def __init__(self, graph: LayerGraph, inputs: Sequence[str]):
        found = {id: re.fullmatch(r"\D*([0-9]{1,9})", id) for id in graph.nodes}
        numbers = {id: int(match[1]) for id, match in found.items() if match}
        if len(set(numbers.values())) < len(graph.nodes):
            numbers = {id: number for number, id in enumerate(in_order(graph.nodes), 1)}
        self._numbers = numbers
        self._inputs = {id: f"input{number}" for number, id in enumerate(inputs)}

    def value(self, id: str) -> str:
        """A variable, and what runtimes call the tensor."""
        return f"out{self._numbers[id]}"

    def wire(self, id: str) -> str:
        """What the whole model calls it."""
        return self._inputs.get(id) or self.value(id)

    def layer(self, id: str) -> str:
        return f"layer{self._numbers[id]}"


def check_names(name: str, arch: str, imported: Sequence[str]) -> None:
    """Refuse what cannot be a class and a module beside the stages."""
    for option, text in (("-n", name), ("-a", arch)):
        if not text.isidentifier() or keyword.iskeyword(text):
            raise Error(f"{option} {text}: not a Python identifier: use letters, digits and _, with no digit first")
    if re.fullmatch(r"Stage\d+", name) or name in (*_TAKEN, *imported):
        raise Error(f"-n {name}: the package already uses this name: give another one")
    if re.fullmatch(r"stage\d+|__init__", arch) or arch in _TAKEN:
        raise Error(f"-a {arch}: the package already has a module or function of this name: give another one")
