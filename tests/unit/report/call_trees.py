"""Hand-made traces: a call tree written down as nested tuples becomes a dump that ``fastdispatch.load`` reads."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastdispatch
from fastdispatch.read.steps import PHASES

MILLISECOND = 1_000_000

#: key, calls, self time in milliseconds, callees, key of the origin of backward, further values (resumes, module: a
#: path, flags, qualified, line, gpu: ns of a kernel); the key is file:[Class]:name, or kind:name for other kinds
Call = tuple[Any, ...]

KINDS = {"op": 2, "autograd": 3, "range": 4, "thread": 7, "kernel": 10}
STDLIB, SITE = 2, 1
STEP_COLUMNS = ("number", "begin", "end", "other", "forward", "backward", "optimizer", "data")


class Dump:
    """One rank per tree. Trees may share calls; nodes and contexts are numbered in order."""

    def __init__(self, *trees: list[Call], timing: bool = True) -> None:
        self.strings = {"": 0}
        self.nodes: dict[tuple[Any, ...], int] = {}
        self.contexts: dict[tuple[int, int, str], int] = {}  # parent, node, path of a module
        self.origins: dict[int, str] = {}
        self.resumes: dict[int, int] = {}
        self.flags: dict[int, int] = {}
        self.gpu: list[dict[int, int]] = []
        self.timing = timing
        self.figures: list[dict[int, tuple[int, int]]] = []
        for tree in trees:
            self.figures.append({})
            self.gpu.append({})
            root = self.add(-1, ("thread:main", 0, 0, tree))
            self.root = root

    def text(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def node(self, key: str, qualified: str = "", line: int = 1) -> int:
        kind, _, name = key.partition(":")
        if kind in KINDS:
            columns = (KINDS[kind], 0, 0, 0, self.text(name), self.text(name), 0, 0)
        else:
            file, owner, name = key.replace(":[", "\0").replace("]:", "\0").split("\0")
            package = file.partition("/")[0] if "/" in file else "project"
            origin = {"torch": SITE, "deepspeed": SITE, "megatron": SITE, "stdlib": STDLIB}.get(package, 0)
            qualified = qualified or (f"{owner}.{name}" if owner else name)
            texts = [self.text(part) for part in (file, owner, name, qualified, package)]
            columns = (1, origin, *texts, line)
        return self.nodes.setdefault(columns, len(self.nodes))

    def add(self, parent: int, call: Call) -> int:
        key, calls, own, children, origin, more = (*call, *((), [], "", {})[len(call) - 2 :])
        node = self.node(key, more.get("qualified", ""), more.get("line", 1))
        context = self.contexts.setdefault((parent, node, more.get("module", "")), len(self.contexts))
        if origin:
            self.origins[context] = origin
        for name in more.keys() & {"resumes", "flags"}:
            getattr(self, name)[context] = more[name]
        if "gpu" in more:
            self.gpu[-1][context] = more["gpu"]
        before = self.figures[-1].get(context, (0, 0))
        self.figures[-1][context] = (before[0] + calls, before[1] + int(own * MILLISECOND))
        for child in children:
            self.add(context, child)
        return context

    def origin(self, context: int) -> int:
        """Return the first context of the function that caused a backward context; -1: it has none."""
        if context not in self.origins:
            return -1
        node = self.node(self.origins[context])
        return next(i for (_, of, _), i in self.contexts.items() if of == node)

    def rank(self, number: int) -> dict[str, Any]:
        figures = sorted(self.figures[number].items())
        zeros = [0] * len(figures)
        columns = ("stepped", "steps", "last_step", "self_min", "self_max", "self_squares")
        columns += ("total_min", "total_max", "total_squares")
        table = {
            "context": [context for context, _ in figures],
            "calls": [calls for _, (calls, _) in figures],
            "resumes": [self.resumes.get(context, 0) for context, _ in figures],
            "self": [own for _, (_, own) in figures],
        } | {column: zeros for column in columns}
        everything = sum(table["self"])
        on_gpus = self.gpu[number]
        no_idle = dict.fromkeys(("starved", "drained", "launch_bound", "bytes", "device"), [0] * len(on_gpus))
        gpu = {"context": [*on_gpus], "calls": [1] * len(on_gpus), "total": [*on_gpus.values()]}
        gpu |= {"self": gpu["total"], "stream": [7] * len(on_gpus), **no_idle}
        return {
            "rank": number, "world": len(self.figures), "pid": 1, "id": f"{number:032x}", "boot_id": "0" * 32,
            "state": "stopped", "timing": self.timing, "steps_source": "none", "steps": 0, "recorded": everything,
            "file_bytes": 0, "start": {"ticks": 0, "monotonic": 0, "boottime": 0, "realtime": 0}, "meta": {},
            "counters": {}, "notes": [],
            "threads": {
                "role": [self.text("main")], "system_id": [1], "root": [self.root], "running": [False],
                "served": [1], "covered": [everything], "self": [everything], "events": [0], "events_lost": [0],
            },
            "open": {"thread": [], "context": [], "age": []},
            "latest_steps": {c: [] for c in STEP_COLUMNS},
            "step_tops": {"step": [], "context": [], "self": []},
            "figures": table, **({"gpu": gpu} if on_gpus else {}),
        }  # fmt: skip

    def load(self, folder: Path, change: Callable[[dict[str, Any]], object] = id) -> fastdispatch.Trace:
        """Load the dump; ``change`` alters its document before."""
        path = self.write(folder / "dump.json")
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))
        return fastdispatch.load(path)

    def write(self, path: Path) -> Path:
        ranks = [self.rank(number) for number in range(len(self.figures))]
        names = ("kind", "from", "file", "class", "name", "qualified", "package", "line")
        contexts = list(self.contexts)
        nodes = list(self.nodes)
        paths = list(dict.fromkeys(module for _, _, module in contexts if module))  # below one root
        names_of_modules = [self.text(path) for path in paths]
        document = {
            "format": "fastdispatch.trace",
            "version": 1,
            "strings": list(self.strings),
            "nodes": {name: [node[i] for node in nodes] for i, name in enumerate(names)},
            "modules": {
                "parent": [-1] * bool(paths) + [0] * len(paths),
                "name": [0] * bool(paths) + names_of_modules,
                "class": [0] * (len(paths) + bool(paths)),
            },
            "contexts": {
                "parent": [parent for parent, _, _ in contexts],
                "node": [node for _, node, _ in contexts],
                "module": [paths.index(module) + 1 if module else -1 for _, _, module in contexts],
                "origin": [self.origin(context) for context in range(len(contexts))],
                "flags": [self.flags.get(context, 0) for context in range(len(contexts))],
            },
            "ranks": ranks,
        }
        path.write_text(json.dumps(document))
        return path


def put_on_cpus(document: dict[str, Any], cpu: float, queued: float) -> None:
    """Let the main thread of each rank be ``cpu`` ms on a CPU, and without one for ``queued`` ms."""
    for rank in document["ranks"]:
        rank["threads"]["cpu"] = [int(cpu * MILLISECOND)]
        marks = {name: [1] for name in ("number", "steps", "end", "recorded", *PHASES, "memory")}
        rank["marks"] = marks | {"recorded": [rank["recorded"]], "queued": [queued * MILLISECOND]}
        for name in ("settled_from", "settled_to"):
            names = ("context", "calls", "resumes", "self", "steps", "self_squares", "total_squares")
            rank[name] = {each: [] for each in names}
