"""Contents of a recording: windows of steps, kept functions, modules, threads, bounds."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

import fastdispatch
from fastdispatch.record.budget import FEWEST_SETTLED, FIRST
from tests import programs, traces
from tests.training import make_step


def trace_of(graph: fastdispatch.CallGraph) -> fastdispatch.Trace:
    return fastdispatch.Trace(graph._session.trace())


# -- steps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["optimizer", "explicit", "none"])
def test_steps_end_where_the_outermost_optimizer_returns_or_explicitly(kind: str) -> None:
    """Explicit steps silence the optimizer from their first one on: two of its steps per step accumulate gradients."""
    _, step = make_step()
    step()
    with fastdispatch.CallGraph(None) as graph:
        for _ in range(10):
            step() if kind != "none" else torch.ones(2) + 1
            if kind == "explicit":
                step()
                graph.step()
    rank = trace_of(graph).ranks[0]
    assert (rank["steps"], rank["steps_source"]) == (10 if kind != "none" else 0, kind)
    assert rank["latest_steps"]["number"] == list(range(rank["steps"]))


def test_a_budget_records_some_steps(tmp_path: Path) -> None:
    losses = []
    for budget in (None, 0.05):
        _, step = make_step()
        with fastdispatch.CallGraph(tmp_path, budget=budget):
            losses.append([step() for _ in range(200)])
    assert losses[0] == losses[1]
    trace = fastdispatch.load(tmp_path)
    (rank,) = trace.ranks
    run = rank["meta"]["steps_of_run"]
    assert (run["steps"], run["recorded"]) == (200, rank["steps"])
    first = FIRST + FEWEST_SETTLED
    assert first <= run["recorded"] < 200
    numbers = rank["latest_steps"]["number"]
    assert numbers[:first] == list(range(first)) and len(numbers) == rank["steps"]
    (calls,) = {calls for name, calls in traces.calls(trace).items() if name.startswith("Optimizer.step#")}
    assert calls == rank["steps"]
    assert f"{rank['steps']} of 200 steps (by Optimizer.step)" in str(trace.report())


def test_steps_of_the_profiler(tmp_path: Path) -> None:
    _, step = make_step(layers=1)

    def train() -> None:
        step()

    schedule = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with (
        fastdispatch.CallGraph(tmp_path) as graph,
        torch.profiler.profile(activities=activities, schedule=schedule) as profiler,
    ):
        for _ in range(200):
            train()
            profiler.step()
        assert graph.stats()["steps"] < 200
    trace = fastdispatch.load(tmp_path)
    (rank,) = trace.ranks
    assert (rank["steps_source"], rank["run_steps"]) == ("profiler", 200)
    assert traces.calls(trace)["train"] == rank["steps"] == rank["meta"]["steps_of_run"]["recorded"]
    assert f"{rank['steps']} of 200 steps (by the step() of torch.profiler)" in str(trace.report())


def test_the_spread_over_steps_is_that_of_the_steps(tmp_path: Path) -> None:
    """Minimum, maximum and sum of squares of a function whose times are measured inside and around its calls."""
    inner: list[int] = []
    outer: list[int] = []

    def burn(n: int) -> None:
        begin = time.monotonic_ns()
        sum(i * i for i in range(n))
        inner.append(time.monotonic_ns() - begin)

    with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
        for n in (1, 200, 40, 10):
            begin = time.monotonic_ns()
            burn(1000 * n)
            outer.append(time.monotonic_ns() - begin)
            graph.step()
    trace = fastdispatch.load(tmp_path)
    names = [trace.nodes["name"][node] for node in trace.contexts["node"]]
    figures = trace.core.columns("figures", 0)
    row = next(i for i, context in enumerate(figures["context"]) if names[context] == "burn")
    assert figures["steps"][row] == 4
    spread = {"total_min": min, "total_max": max, "total_squares": lambda times: sum(each**2 for each in times)}
    for name, figure in spread.items():
        assert 0.998 * figure(inner) <= figures[name][row] <= figure([each + 1000 for each in outer]) / 0.998
    latest = trace.ranks[0]["latest_steps"]
    durations = [end - begin for begin, end in zip(latest["begin"], latest["end"], strict=True)]
    assert all(duration >= 0.999 * own for duration, own in zip(durations, inner, strict=True))
    top = trace.ranks[0]["step_tops"]
    of_one = {names[context] for step, context in zip(top["step"], top["context"], strict=True) if step == 1}
    assert of_one & {"burn", "<genexpr>"}


def test_a_schedule_records_its_windows_and_calls_back_after_each() -> None:
    ready: list[int] = []
    _, step = make_step()

    def on_ready(graph: fastdispatch.CallGraph) -> None:
        ready.append(graph.stats()["steps"])

    schedule = fastdispatch.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    with fastdispatch.CallGraph(None, schedule=schedule, on_trace_ready=on_ready) as graph:
        for _ in range(12):
            step()
    trace = trace_of(graph)
    assert ready == [2, 4]
    assert trace.ranks[0]["latest_steps"]["number"] == [3, 4, 7, 8]
    assert traces.column(trace)["pretrain.py:[]:train_step"] == 4


def test_nothing_is_hooked_once_the_schedule_is_over_and_the_graph_stopped() -> None:
    with fastdispatch.CallGraph(None, ops="off", steps="0:1") as graph:
        programs.leaf(1)
        graph.step()
        programs.classes()
    assert "classes" not in trace_of(graph).nodes["name"]


# -- keep --------------------------------------------------------------------------------------------------------------


def test_a_dropped_function_is_contracted() -> None:
    def edges(keep) -> set[tuple[str, str]]:
        trace = traces.recorded(programs.classes, ops="off", keep=keep)
        files = dict(zip(trace.nodes["name"], trace.nodes["file"], strict=True))
        return {edge for edge in traces.edges(trace) if all("programs" in files[name] for name in edge)}

    everything = edges("*")
    assert ("closure", "inner") not in everything and ("inner", "method") in everything
    dropped = edges(["*", "!*:method"])
    assert not [edge for edge in dropped if "method" in edge]
    assert ("inner", "leaf") in dropped and ("doubled", "leaf") in dropped
    assert edges(lambda key: not key.endswith(":method")) == dropped


def test_the_filter_is_called_once_per_function() -> None:
    asked: Counter[str] = Counter()

    def keep(key: str) -> bool:
        asked[key] += 1
        return "leaf" in key

    with fastdispatch.CallGraph(None, ops="off", keep=keep):
        for _ in range(3):
            programs.classes()
    assert asked["tests/programs.py:[Derived]:method"] == 2  # Base's and Derived's: one key, two functions
    assert asked["tests/programs.py:[Base]:method"] == 1
    assert max(asked.values()) == 2


def test_imports_are_folded_and_the_programs_own_modules_are_not(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "own_module.py").write_text("import xml.dom.minidom\ndef made(): pass\nmade()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with fastdispatch.CallGraph(None, ops="off") as graph:
        __import__("own_module")
    trace = trace_of(graph)
    names = trace.nodes["name"]
    assert "<folded>" in names
    assert "made" in names
    assert not [file for file in trace.nodes["file"] if "minidom" in file]
    folded = trace.table("node")
    assert folded["calls"][folded["where"].index("<folded>")] > 100


# -- modules -----------------------------------------------------------------------------------------------------------


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.again = self.first
        self.bag = nn.ModuleDict({"a": nn.ModuleList([nn.ReLU(), nn.Linear(4, 4)])})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.again(self.first(x))
        for layer in self.bag["a"]:
            x = layer(x)
        return Outside()(x)


class Outside(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def test_module_instances_have_the_names_of_named_modules() -> None:
    """Patterns fold their repeats."""
    model, step = make_step(layers=3)
    with fastdispatch.CallGraph(None) as graph:
        step()
    recorded = {path for path in trace_of(graph).modules["path"] if path}
    leaves = {name for name, module in model.named_modules() if name and not isinstance(module, nn.ModuleList)}
    assert recorded == leaves
    instances = traces.column(trace_of(graph), "module", "instances")
    assert (instances["blocks.*.attn.qkv"], instances["wte"]) == (3, 1)


def test_shared_nested_and_recreated_modules() -> None:
    with fastdispatch.CallGraph(None) as graph:
        for _ in range(3):
            Shared()(torch.ones(1, 4))
    trace = trace_of(graph)
    named = set(zip(trace.modules["path"], trace.modules["class"], strict=True))
    assert named == {
        ("", "Shared"),
        ("", "Outside"),
        ("first", "Linear"),
        ("bag.a.0", "ReLU"),
        ("bag.a.1", "Linear"),
    }
    calls = traces.column(trace, "module")
    assert calls["first"] == 6


class Leaf(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class Wide(nn.Module):
    """Many modules, called in order, and modules of other models."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.bag = nn.ModuleList(Leaf() for _ in range(count))

    def forward(self, x: torch.Tensor, strangers: int = 0) -> torch.Tensor:
        for module in self.children():
            for leaf in module if isinstance(module, nn.ModuleList) else [module]:
                x = leaf(x)
        for _ in range(strangers):
            x = Outside()(x)
        return x


def test_a_model_is_looked_at_once_for_the_names_of_all_its_modules() -> None:
    count = 70_000  # more than a former limit
    model = Wide(count)
    with fastdispatch.CallGraph(None, ops="off", steps="all") as graph:
        model(torch.ones(1))
        model(torch.ones(1))
    trace = trace_of(graph)
    paths = set(trace.modules["path"])
    assert len(paths) > 10_000  # up to the limit
    assert paths <= {"", *(f"bag.{number}" for number in range(count))}
    assert graph._session.module_visits <= count + 1


def test_cost_of_many_modules_without_parent() -> None:
    steps, strangers = 3, 1000
    model = Wide(3000)
    with fastdispatch.CallGraph(None, ops="off", steps="all") as graph:
        for _ in range(steps):
            model(torch.ones(1), strangers)
    trace = trace_of(graph)
    calls = traces.column(trace, "module")
    assert calls["Outside"] == steps * strangers
    assert len(set(trace.modules["path"])) == 3001
    questions = steps * strangers + 3000
    assert graph._session.module_visits <= 2_000_000 + 256 * questions + 3001
    assert 0 < trace.ranks[0]["counters"]["modules_full"] < steps * strangers


def test_added_and_moved_modules_are_named_by_position() -> None:
    model = Wide(100)
    with fastdispatch.CallGraph(None, ops="off") as graph:
        model(torch.ones(1))
        for number in range(5):
            setattr(model, f"late{number}", Leaf())
            model(torch.ones(1))
            delattr(model, f"late{number}")  # the next module may reuse its address
        model.bag.append(Leaf())
        model(torch.ones(1))
    paths = set(trace_of(graph).modules["path"])
    assert paths == {"", *(f"bag.{number}" for number in range(101)), *(f"late{number}" for number in range(5))}


def parameters_of(module: nn.Module) -> tuple[int, int]:
    found = list(module.parameters())
    return sum(p.numel() for p in found), sum(p.numel() * p.element_size() for p in found)


def recorded_parameters(graph: fastdispatch.CallGraph) -> dict[str, tuple[int, int]]:
    columns = trace_of(graph).modules
    figures = zip(columns["parameters"], columns["parameter_bytes"], strict=True)
    names = [path or name for path, name in zip(columns["path"], columns["class"], strict=True)]
    return dict(zip(names, figures, strict=True))


def test_modules_have_the_parameters_that_pytorch_counts() -> None:
    """Of a model with tied weights of two types, a parameter None, and one of the root only."""
    model, step = make_step(layers=2)
    model.head.weight = model.wte.weight
    model.ln.bfloat16().register_parameter("bias", None)
    model.ln.forward = lambda x: nn.functional.layer_norm(x, x.shape[-1:])  # type: ignore[method-assign]
    with fastdispatch.CallGraph(None) as graph:
        step()
    found = recorded_parameters(graph)
    assert found.pop("GPT") == parameters_of(model)
    assert len(found) > 15
    assert found == {path: parameters_of(model.get_submodule(path)) for path in found}


@pytest.fixture
def two_ranks() -> Iterator[object]:
    """A mesh with this process as the first and no other process; collectives do nothing."""
    pytest.importorskip("torch.distributed.tensor")
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    yield init_device_mesh("cpu", (2,))
    torch.distributed.destroy_process_group()


def test_sharded_parameters_are_counted_in_full(two_ranks: object) -> None:
    """FSDP gathers parameters of a module before its forward, while those of submodules are still sharded."""
    from torch.distributed.fsdp import fully_shard

    model = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4, bias=False))
    expected = [parameters_of(model), parameters_of(model[0]), parameters_of(model[2])]
    for module in (model[0], model[2], model):
        fully_shard(module, mesh=two_ranks)
    kinds = {type(parameter).__name__ for parameter in model.parameters()}
    assert kinds == {"DTensor"}
    with fastdispatch.CallGraph(None) as graph:
        for _ in range(2):
            model(torch.ones(3, 6)).sum().backward()
    found = recorded_parameters(graph)
    roots = [figures for name, figures in found.items() if "Sequential" in name]
    assert [*roots, found["0"], found["2"]] == expected


def test_parameters_are_read_without_torch_functions() -> None:
    """Modes, subclasses of tensors and tracing are not affected."""
    seen: list[str] = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), named=None):  # type: ignore[no-untyped-def]
            seen.append(getattr(function, "__name__", ""))
            return function(*arguments, **(named or {}))

    class Loud(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, arguments=(), named=None):  # type: ignore[no-untyped-def]
            seen.append(getattr(function, "__name__", ""))
            return super().__torch_function__(function, types, arguments, named or {})

    quiet = nn.Linear(4, 4)
    loud = nn.Linear(4, 4)
    loud.bias = nn.Parameter(torch.ones(4).as_subclass(Loud))
    seen.clear()
    with fastdispatch.CallGraph(None) as graph:
        with Mode():
            nn.Sequential(quiet)(torch.ones(1, 4))
        loud(torch.ones(1, 4))
        traced = torch.jit.trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.ones(1, 4), check_trace=False)
    assert not {"numel", "element_size", "shape"} & set(seen)
    assert "numel" not in str(traced.inlined_graph)
    assert recorded_parameters(graph)["Linear"] == (16, 64)
    assert recorded_parameters(graph)["Sequential"] == (0, 0)


# -- threads and ranges ------------------------------------------------------------------------------------------------


def test_thread_roles() -> None:
    with fastdispatch.CallGraph(None, ops="off") as graph:
        programs.threads()
    roles = trace_of(graph).ranks[0]["threads"]["role"]
    assert set(roles) == {"main", "worker-*"}
    assert sum(trace_of(graph).ranks[0]["threads"]["served"]) == 5


def test_two_thousand_short_threads_cost_no_more_than_one(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off", steps="all") as graph:
        for _ in range(2000):
            thread = threading.Thread(target=programs.leaf, args=(1,))
            thread.start()
            thread.join()
        assert graph.stats()["bytes"] < 2_000_000
    trace = fastdispatch.load(tmp_path)
    assert traces.column(trace)["tests/programs.py:[]:leaf"] == 2000
    assert sum(trace.ranks[0]["threads"]["served"]) == 2001


def test_a_thousand_changing_range_names_are_folded(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path) as graph:
        for n in range(1000):
            with torch.profiler.record_function(f"batch {n} of epoch {n // 100}"):
                pass
        assert graph.stats()["bytes"] < 2_000_000
    trace = fastdispatch.load(tmp_path)
    ranges = [name for name, kind in zip(trace.nodes["name"], trace.nodes["kind"], strict=True) if kind == "range"]
    assert "batch * of epoch *" in ranges
    assert len(ranges) == 17
    calls = traces.column(trace, "node")
    assert calls["batch * of epoch *"] == 1000 - 16
    assert trace.ranks[0]["counters"]["ranges_folded"] == 1000 - 16


def test_ranges_belong_to_the_function_that_uses_them() -> None:
    def with_record_function() -> None:
        with torch.profiler.record_function("inner work"):
            programs.leaf(1)

    def with_label() -> None:
        with fastdispatch.label("labelled"):
            programs.leaf(2)

    def with_nested() -> None:
        with torch.profiler.record_function("outer"), torch.profiler.record_function("inner"):
            programs.leaf(3)

    for ops in ("record", "dispatch"):
        with fastdispatch.CallGraph(None, ops=ops) as graph:
            with_record_function()
            with_label()
            with_nested()
        trace = trace_of(graph)
        ends = [" > ".join(key.rpartition(":")[2] for key in path[-4:]) for path in traces.paths(trace)]
        for path in ("with_record_function > inner work", "with_label > labelled", "with_nested > outer > inner"):
            assert any(end.endswith(f"{path} > leaf") for end in ends), (ops, path)
        calls = traces.column(trace, "node")
        assert [calls[name] for name in ("inner work", "labelled", "outer", "inner")] == [1, 1, 1, 1]


# -- bounds ------------------------------------------------------------------------------------------------------------


def test_ten_thousand_steps_need_no_more_room_than_a_hundred(tmp_path: Path) -> None:
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        model(torch.ones(1, 4)).sum().backward()
        optimizer.step()

    with fastdispatch.CallGraph(tmp_path, steps="all") as graph:
        for n in range(10_000):
            step()
            if n == 99:
                early = graph.stats()["bytes"]
        assert graph.stats()["bytes"] - early <= 256 * 1024
        assert graph.stats()["steps"] == 10_000
    assert len(fastdispatch.load(tmp_path).ranks[0]["latest_steps"]["number"]) == 256


def test_calls_beyond_the_limit_are_counted_in_overflow(tmp_path: Path) -> None:
    space: dict[str, object] = {"depth": 0}
    source = "".join(f"def f{n}(g=None):\n    return g and g()\n" for n in range(400))
    exec(compile(source, "<many>", "exec"), space)
    functions = [space[f"f{n}"] for n in range(400)]
    calls = 0
    with fastdispatch.CallGraph(tmp_path, ops="off", steps="all", max_mb=1) as graph:
        for outer in functions:
            for inner in functions[:100]:
                outer(inner)
                calls += 2
        assert graph.stats()["bytes"] <= 1024 * 1024
    trace = fastdispatch.load(tmp_path)
    table = trace.table("node")
    rows = {where: n for where, n in zip(table["where"], table["calls"], strict=True)}
    overflow = rows["<overflow>"]
    assert overflow > 10_000
    assert sum(n for where, n in rows.items() if where.startswith("<many>")) + overflow == calls


def test_a_program_that_makes_types_and_modules_for_ever_stays_bounded() -> None:
    with fastdispatch.CallGraph(None, ops="off", steps="all", max_mb=4) as graph:
        for n in range(3000):
            kind = type(f"Kind{n}", (programs.Base,), {})
            kind(n).method()
            Outside()(torch.ones(1))
        assert graph.stats()["bytes"] <= 4 * 1024 * 1024
        assert graph.stats()["modules"] < 10
    calls = traces.column(trace_of(graph), "node")
    assert 3000 <= calls["tests/programs.py:[]:leaf"] + calls["<overflow>"] <= 4 * 3000
