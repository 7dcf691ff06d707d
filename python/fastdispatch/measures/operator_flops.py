"""FLOPs of the calls of operators, derived from their recorded shapes, and precisions (docs/concepts/measures.md)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastdispatch.measures.flop_formulas import flops_of_call, kind_of
from fastdispatch.measures.shapes import Tensor, operands_of
from fastdispatch.read.columns import rows
from fastdispatch.read.summary import mapping
from fastdispatch.read.trace import Trace
from fastdispatch.text.kernel_names import precision_of_kernel


@dataclass
class OperatorFlops:
    """Calls of a call path. An operator inside another one that counts does not count again."""

    context: int
    kind: str  # flops; elementwise: operations of element-wise operators; unknown: calls without a figure
    calls: int = 0
    flops: int = 0
    bytes: int = 0  # of the operands
    beyond: int = 0  # unknown calls with more shapes than a call path lists
    failed: str = ""  # exception of the formula of a custom operator
    dtypes: Counter[str] = field(default_factory=Counter)  # FLOPs by element type of the operands


@dataclass
class _Path:
    """The calls of an operator at a call path, with figures and without."""

    known: OperatorFlops
    unknown: OperatorFlops


class OperatorCalls:
    """The operators of a trace from whose shapes FLOPs are derived."""

    def __init__(self, trace: Trace) -> None:
        nodes, contexts = trace.nodes, trace.contexts
        self._keys = [nodes["key"][node] for node in contexts["node"]]
        self._above: list[int] = []  # nearest operator that calls this path, or -1
        operators = [nodes["kind"][node] == "op" for node in contexts["node"]]
        for parent in contexts["parent"]:  # a parent comes before its children
            self._above.append(parent if parent < 0 or operators[parent] else self._above[parent])

    def of(self, entry: Mapping[str, Any]) -> Iterator[OperatorFlops]:
        """Yield the calls of a rank."""
        paths = self._paths(entry)
        inside: dict[int, set[str]] = {}  # element types of the operators inside a path that counts
        inner = {above for context, path in paths.items() if path.known.calls for above in self._around(context, paths)}
        for context, path in paths.items():
            if path.unknown.calls and context in inner:
                # The operators inside count for all calls: which of them belong to calls without a figure is unknown.
                path.unknown.calls += path.known.calls
                path.unknown.bytes += path.known.bytes
                path.known.calls = 0
        for context, path in paths.items():
            around = [above for above in self._around(context, paths) if paths[above].known.calls]
            if around and path.known.calls:
                inside.setdefault(around[-1], set()).update(path.known.dtypes)
        for context, path in paths.items():
            if len(inside.get(context, ())) == 1:  # as after the casts of autocast
                path.known.dtypes = Counter({next(iter(inside[context])): path.known.flops})
            if not any(paths[above].known.calls for above in self._around(context, paths)):
                yield from (each for each in (path.known, path.unknown) if each.calls)

    def _around(self, context: int, paths: Mapping[int, _Path]) -> Iterator[int]:
        """Yield the operators with recorded shapes that call this path."""
        while (context := self._above[context]) >= 0:
            if context in paths:
                yield context

    def _paths(self, entry: Mapping[str, Any]) -> dict[int, _Path]:
        custom = mapping(entry["meta"].get("flop_formulas"))
        found: dict[int, _Path] = {}
        for kind, context, detail, count, size in rows(entry["measures"], "kind context detail count other"):
            operator = self._keys[context]
            counts_as = kind_of(operator) if kind == "shapes" else ""
            if not counts_as:
                continue
            flops, failed = _figure(operator, detail, mapping(custom.get(operator)))
            path = found.get(context)
            if path is None:
                known = OperatorFlops(context, "flops" if counts_as == "unknown" else counts_as)
                path = found[context] = _Path(known, OperatorFlops(context, "unknown"))
            calls = path.unknown if flops is None else path.known
            calls.calls += count
            calls.flops += count * (flops or 0)
            if flops and counts_as != "elementwise":
                calls.dtypes[element_type(detail)] += count * flops
            calls.bytes += size
            calls.beyond += 0 if detail else count
            calls.failed = calls.failed or failed
        return found


def _figure(operator: str, detail: str, custom: Mapping[str, Any]) -> tuple[int | None, str]:
    """Return the FLOPs of a call with these operands, or None, and why a formula of the program failed."""
    if kind_of(operator) != "unknown":
        return flops_of_call(operator, detail) if detail else None, ""
    flops = mapping(custom.get("flops")).get(detail)
    return flops if isinstance(flops, int) else None, str(custom.get("failed", ""))


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
