"""Hashes in place of the user's names (``fastdispatch anonymize``, docs/guides/privacy.md).

Equal names with equal salts have equal hashes. Names that PyTorch or Python defines stay.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

from fastdispatch import _core
from fastdispatch.read.schedule_jobs import KINDS

#: Classes of which traces rarely have own methods.
_CLASSES = {"Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "RMSprop", "SGD", "Module", "ModuleDict"}
_CLASSES |= {"ModuleList", "Sequential", "_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter"}
# fmt: off
_OPERATORS = (
    "aten::", "prim::", "prims::", "torch::", "c10d::", "c10d_functional::", "_c10d_functional::", "inductor::",
    "quantized::", "profiler::", "torchvision::", "record_param_comms", "nccl:", "gloo:", "Torch-Compiled Region",
    "autograd::",
)
_RANGES = (
    "ProfilerStep#", "Optimizer.step#", "Optimizer.zero_grad#", "enumerate(DataLoader)#", "DistributedDataParallel.",
    "nccl:", "gloo:",
)
# fmt: on
_ENGINE = "autograd::engine::evaluate_function: "
_ROLES = ("main", "pin-memory", "autograd:")
#: Facts without names.
_FACTS = {"cost_ns", "fastdispatch", "implementation", "machine", "ops", "ops_reason", "python", "torch"}
#: Measures whose detail is a name.
_NAMED = ("none", "steps")
_DIGITS = "0123456789"
_MASK = 2**64 - 1


def anonymize(core: _core.Trace, salt: str, prefix: str = "") -> None:
    """Replace the user's names in a trace, after ``prefix`` was removed from the names of files."""
    nodes, modules = core.columns("nodes"), core.columns("modules")
    nodes["file"] = [file.removeprefix(prefix) for file in nodes["file"]]
    names = _Names(salt, nodes)
    for row, kind in enumerate(nodes["kind"]):
        names.hide_node(nodes, row, kind)
    shown = {name: nodes[name] for name in ("file", "class", "name", "qualified", "package")}
    paths = {"name": list(map(names.path, modules["name"])), "class": list(map(names.of_class, modules["class"]))}
    changes: list[tuple[str, int, dict[str, list[Any]]]] = [("nodes", -1, shown), ("modules", -1, paths)]
    for index in range(len(core.columns("rank")["rank"])):
        changes += _of_rank(core, index, names, prefix)
    core.replace((table, rank, len(next(iter(columns.values()))), columns) for table, rank, columns in changes)


def _of_rank(core: _core.Trace, index: int, names: _Names, prefix: str) -> list[tuple[str, int, dict[str, list[Any]]]]:
    facts, notes = core.columns("facts", index), core.columns("notes", index)["note"]
    jobs, measures = core.columns("jobs", index), core.columns("measures", index)
    roles = core.columns("threads", index)["role"]
    kept: dict[str, list[str]] = {"key": [], "value": []}
    for key, value in zip(facts["key"], facts["value"], strict=True):
        text = value.replace(prefix, "") if prefix else value
        if key in ("host", "run_id"):
            text = f'"{names.hidden(text)}"'
        elif key not in _FACTS and (key != "clock" or '"trouble"' in text):
            continue
        kept["key"].append(key)
        kept["value"].append(text)
    kept["key"].append("anonymous")  # readers do not search this machine for the sources
    kept["value"].append("true")
    details = zip(measures["kind"], measures["detail"], strict=True)
    boot = core.columns("rank", index)["boot_id"]
    return [
        ("facts", index, kept),
        ("notes", index, {"note": ["a note about skipped data is hidden"] * len(notes)}),
        ("threads", index, {"role": [role if role.startswith(_ROLES) else names.hidden(role) for role in roles]}),
        ("jobs", index, {"kind": [kind if kind in KINDS else names.hidden(kind) for kind in jobs["kind"]]}),
        ("measures", index, {"detail": [names.hidden(text) if kind in _NAMED else text for kind, text in details]}),
        ("rank", index, {"boot_id": list(map(names.boot, boot))}),
    ]


class _Names:
    """The names of a trace and their hashes."""

    def __init__(self, salt: str, nodes: dict[str, list[Any]]) -> None:
        text = salt.encode()
        key = siphash(1, 0, text), siphash(2, 0, text)
        self._hash = cache(lambda name: siphash(*key, name.encode()))
        origins = zip(nodes["kind"], nodes["from"], nodes["file"], strict=True)
        self._is_library = [kind in ("python", "c") and _is_library(whose, file) for kind, whose, file in origins]
        #: Origins of the classes in qualified names. The class of a node is not sufficient: a method of a library's
        #: class can run for a class of the project, which is then the class of the node.
        self._known: dict[str, bool] = dict.fromkeys(_CLASSES, True)
        for row, qualified in enumerate(nodes["qualified"]):
            if nodes["kind"][row] in ("python", "c"):
                for name in qualified.split(".")[:-1]:
                    self._known[name] = self._known.get(name, True) and self._is_library[row]

    def hidden(self, name: str) -> str:
        return f"f_{self._hash(name) >> 16:012x}" if name else ""

    def boot(self, text: str) -> str:
        number = self._hash(text)
        return f"{number:016x}{number * 0x9E3779B97F4A7C15 & _MASK:016x}" if text else ""

    def of_class(self, name: str) -> str:
        """Return the name of a class, which stays if only libraries use it."""
        return name if self._known.get(name, False) else self.hidden(name)

    def path(self, text: str) -> str:
        """Return a module path with its numbers, so that repeats are still folded."""
        return ".".join(part if not part.strip(_DIGITS) else self.hidden(part) for part in text.split("."))

    def hide_node(self, nodes: dict[str, list[Any]], row: int, kind: str) -> None:
        name = nodes["name"][row]
        if kind in ("python", "c"):
            nodes["class"][row] = self.of_class(nodes["class"][row])
            if self._is_library[row]:
                return
            nodes["file"][row] = self.hidden(nodes["file"][row])
            nodes["qualified"][row] = self.hidden(nodes["qualified"][row])
            if nodes["package"][row] != "project":
                nodes["package"][row] = self.hidden(nodes["package"][row])
            nodes["name"][row] = name if _is_common(name) else self.hidden(name)
        elif kind == "range":
            nodes["name"][row] = self._range(name)
        elif not _is_known(kind, name):
            nodes["name"][row] = self.hidden(name)

    def _range(self, name: str) -> str:
        """Return a range. The class of an optimizer can be the project's."""
        known = next((known for known in _RANGES if name.startswith(known)), None)
        if known is None:
            return self.hidden(name)
        rest = name.removeprefix(known)
        owner = rest.partition(".")[0] if known.endswith("#") and rest.strip(_DIGITS + "*") else ""
        return name if not owner or self._known.get(owner, False) else known + self.hidden(owner)


def _is_library(whose: str, file: str) -> bool:
    return whose in ("site", "stdlib") or (whose == "generated" and file.startswith("<frozen "))


def _is_common(name: str) -> bool:
    """Return whether Python or PyTorch defined the name of a function: ``<lambda>``, ``__init__``, ``forward``."""
    special = len(name) > 4 and name.startswith("__") and name.endswith("__")
    return special or (len(name) > 1 and name[0] + name[-1] == "<>") or name in ("forward", "backward")


def _is_known(kind: str, name: str) -> bool:
    if kind == "op":
        return _is_operator(name)
    if kind == "autograd":
        return _is_autograd(name)
    if kind == "job":
        return name in KINDS
    return name.startswith(_ROLES) if kind == "thread" else kind == "overflow"


def _is_operator(name: str) -> bool:
    return _is_autograd(name.removeprefix(_ENGINE)) if name.startswith(_ENGINE) else name.startswith(_OPERATORS)


def _is_autograd(name: str) -> bool:
    """Return whether an autograd node is PyTorch's: these have numbers, as ``AddmmBackward0``."""
    number = name.partition("Backward")[2]
    return _is_operator(name) or (number != "" and not number.strip(_DIGITS))


def siphash(low: int, high: int, data: bytes) -> int:
    """Return SipHash-2-4 of the data."""
    state = [low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D, low ^ 0x6C7967656E657261, high ^ 0x7465646279746573]
    whole = len(data) // 8
    last = int.from_bytes(data[whole * 8 :], "little") | (len(data) & 255) << 56
    for word in (*struct.unpack(f"<{whole}Q", data[: whole * 8]), last):
        state[3] ^= word
        _mix(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _mix(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _mix(state: list[int], rounds: int) -> None:
    a, b, c, d = state
    for _ in range(rounds):
        a = (a + b) & _MASK
        c = (c + d) & _MASK
        b = _rotated(b, 13) ^ a
        d = _rotated(d, 16) ^ c
        a = _rotated(a, 32)
        c = (c + b) & _MASK
        a = (a + d) & _MASK
        b = _rotated(b, 17) ^ c
        d = _rotated(d, 21) ^ a
        c = _rotated(c, 32)
    state[:] = a, b, c, d


def _rotated(number: int, by: int) -> int:
    return (number << by | number >> (64 - by)) & _MASK
