"""Facts of the operands of recorded calls, out of the lists in which the C core has them."""

import json
import re
from collections.abc import Iterator
from typing import Any

#: The lists of the inputs or outputs of a call (csrc/et/readers/et_operands.h).
LISTS = ("values", "types", "shapes", "strides")
_TYPES = re.compile(r"\w+\[|\]|[^][,]+")


def operand_facts(*lists: str) -> list[Any]:
    """Return the facts of the inputs or outputs of a call, given as the texts of :data:`LISTS`:

    - a tensor: ``id``, ``storage`` (number), ``at`` (address), ``dtype``, ``shape``, ``bytes``, ``extent`` (bytes of
      the storage up to its last element), and ``value`` of a single element, if known
    - a list; of a tuple ``{"tuple": [...]}``, of a dict ``{"dict": [(key, value), ...]}``
    - ``{"device": "cpu"}``; ``{"other": text}`` of objects without data, infinities and NaN
    - None, numbers and texts as they are
    """
    operands = zip(*map(json.loads, lists), strict=True)
    return [_fact(iter(_TYPES.findall(kinds)), value, *sides) for value, kinds, *sides in operands]


def _fact(types: Iterator[str], value: Any, shape: Any, strides: Any) -> Any:
    """Return an operand of the next type; a type "Tuple[" is followed by those of its items, and "]"."""
    kind = next(types, "None")
    if kind.endswith("["):
        items = [_fact(types, *item) for item in zip(value, shape, strides, strict=True)]
        next(types, None)
        pairs = zip(items[::2], items[1::2], strict=False)
        return {"Tuple[": {"tuple": items}, "Dict[": {"dict": [*pairs]}}.get(kind, items)
    if kind.startswith("Tensor(") and "nullptr" not in kind:
        return _tensor(kind[len("Tensor(") : -1], shape, strides, *value)
    if kind == "Double" and not isinstance(value, str):
        return float(value)
    if kind == "None":
        return None
    return value if kind in ("Int", "Bool", "String") else {"device" if kind == "Device" else "other": value}


def _tensor(
    dtype: str, shape: list[int], strides: list[int], id: int, storage: int, offset: int, elements: int, *more: Any
) -> dict[str, Any]:
    item, _, address, *values = more
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    made = {"id": id, "storage": storage, "at": address, "dtype": dtype, "shape": shape, "bytes": elements * item}
    made["extent"] = (last + 1) * item if elements else 0
    for value in values:
        made["value"] = value if dtype in ("bool", "int64") else None if isinstance(value, str) else float(value)
    return made
