"""The precision in which operators multiply: it decides how many FLOP/s a GPU can do (docs/concepts/measures.md)."""

from __future__ import annotations

from fastdispatch.measures.shapes import Tensor, operands_of
from fastdispatch.read.trace import Trace
from fastdispatch.text.kernel_names import precision_of_kernel

_OF_TYPES = {"bfloat16": "bf16", "float16": "fp16"}


def element_type(text: str) -> str:
    """Return the element type of the first tensor of recorded operands; empty without one."""
    values = operands_of(text).values
    tensors = (each for value in values for each in (value if isinstance(value, list) else [value]))
    return next((each.dtype for each in tensors if isinstance(each, Tensor)), "")


class Precisions:
    """Precisions of the operators of a trace. An operator on float32 may use TF32: the names of its kernels decide."""

    def __init__(self, trace: Trace) -> None:
        nodes, contexts = trace.nodes, trace.contexts
        kinds, names = nodes["kind"], nodes["name"]
        self._found: dict[int, set[str]] = {}
        for row, node in enumerate(contexts["node"]):
            precision = precision_of_kernel(names[node]) if kinds[node] == "kernel" else ""
            above = contexts["parent"][row] if precision else -1
            while above >= 0 and kinds[contexts["node"][above]] != "op":
                above = contexts["parent"][above]  # a function that implements the operator
            while above >= 0 and kinds[contexts["node"][above]] == "op":
                self._found.setdefault(above, set()).add(precision)
                above = contexts["parent"][above]

    def of(self, context: int, dtype: str) -> str:
        """Return ``fp32``, ``tf32``, ``bf16``, ``fp16`` or ``fp8``; another element type as it is, and ``float32`` if
        its precision is not decided."""
        if dtype.startswith("float8_e"):
            return "fp8"
        found = self._found.get(context, set())
        return next(iter(found)) if dtype == "float32" and len(found) == 1 else _OF_TYPES.get(dtype, dtype)
