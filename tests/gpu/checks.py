"""The checks. Each function is one: it returns a line about what it saw, and raises if something is wrong."""

import functools
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pretrain
import torch

import fastdispatch
from fastdispatch.measures.measured import communicated
from fastdispatch.read.compilations import kernel_origins
from fastdispatch.text.formats import seconds
from fastdispatch.text.kernel_names import short_kernel_name
from tests.gpu import modules
from tests.gpu.allocator import memory_against_the_allocator
from tests.gpu.faults import FOLDER, costs_of_steps, planted_faults, planted_idle_time

#: Large enough that the stream never waits for the host: an interval is then the kernels in it.
LARGE = pretrain.Config(context=512, width=1536, heads=12, layers=4, dropout=0.0)
SMALL = pretrain.Config(context=16, width=32, heads=2, layers=2, dropout=0.0)
MANY = 150  #: steps


class Training:
    """The example GPT on a device, on fixed data."""

    def __init__(self, device: str, config: pretrain.Config, batch: int) -> None:
        torch.manual_seed(0)
        self.model = pretrain.GPT(config).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.tokens = torch.randint(0, 256, (batch, config.context), device=device)
        self.targets = torch.randint(0, 256, (batch, config.context), device=device)

    def step(self) -> float:
        return pretrain.train_step(self.model, self.optimizer, self.tokens, self.targets)


def record(work: Callable[[], object], gpu: str, steps: int, always: bool = True, **options: Any) -> fastdispatch.Trace:
    """``work`` once per step, recorded into a file, with marks ``always`` or in sampled steps."""
    with tempfile.TemporaryDirectory(prefix="fastdispatch-gpu-") as folder:
        graph = fastdispatch.CallGraph(folder, gpu=gpu, steps="all", **options)
        graph._gpu_always = always
        with graph:
            for _ in range(steps):
                work()
                graph.step()
        return fastdispatch.load(folder, timeline=bool(options.get("timeline")))


def device_of(trace: fastdispatch.Trace) -> dict[str, Any]:
    (device,) = trace.ranks[0]["meta"]["gpu_devices"]["devices"]
    assert "error" not in device, device["error"]
    return device  # type: ignore[no-any-return]


def sound(trace: fastdispatch.Trace) -> None:
    """Totals are sums of self over subtrees; all intervals have ended, and at most 1 call in 500 has none: the recorder
    does not wait for a free event."""
    contexts, counters = trace.contexts, trace.ranks[0]["counters"]
    lost = {name: counters[name] for name in ("gpu_lost", "gpu_dropped", "gpu_unfinished", "gpu_events_lost")}
    assert lost["gpu_unfinished"] == lost["gpu_events_lost"] == 0, lost
    assert lost["gpu_lost"] + lost["gpu_dropped"] <= sum(contexts["gpu_calls"]) / 500, lost
    totals = list(contexts["gpu_self"])
    for row in range(len(totals) - 1, -1, -1):
        if contexts["parent"][row] >= 0:
            totals[contexts["parent"][row]] += totals[row]
    assert totals == contexts["gpu_total"]


def kernels_by_name(trace: fastdispatch.Trace) -> dict[str, tuple[int, int]]:
    """Count and ns of kernels, copies and fills, by short name."""
    found: Counter[str] = Counter()
    times: Counter[str] = Counter()
    contexts, nodes = trace.contexts, trace.nodes
    for row, node in enumerate(contexts["node"]):
        if nodes["kind"][node] == "kernel":
            name = short_kernel_name(nodes["name"][node])
            found[name] += contexts["gpu_calls"][row]
            times[name] += contexts["gpu_self"][row]
    return {name: (count, times[name]) for name, count in found.items()}


def profiled_steps(training: Training, steps: int) -> modules.Events:
    kinds = torch.profiler.ProfilerActivity
    with tempfile.TemporaryDirectory(prefix="fastdispatch-gpu-") as folder:
        with (
            modules.marked_forwards(training.model),
            torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA]) as profile,
        ):
            for _ in range(steps):
                training.step()
        path = Path(folder) / "profile.json"
        profile.export_chrome_trace(str(path))
        events: modules.Events = json.loads(path.read_text())["traceEvents"]
        return events


def kernels_against_the_profiler(device: str) -> str:
    """Kernels of each name are as many as those of torch.profiler in as many steps. All of them, and those of names
    and modules with more than 5 % of the time, take as long within 1 %; those of other modules, within 2 %."""
    training = Training(device, LARGE, 16)
    for _ in range(10):
        training.step()
    trace = record(training.step, "kernels", 5)  # first: torch.profiler may keep CUPTI after its first use
    sound(trace)
    ours = kernels_by_name(trace)
    for _ in range(10):
        training.step()  # as warm as before
    events = profiled_steps(training, 5)
    theirs: dict[str, tuple[int, int]] = {}
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            name = short_kernel_name(event["name"])
            count, time = theirs.get(name, (0, 0))
            theirs[name] = count + 1, time + round(event["dur"] * 1000)
    assert theirs, "torch.profiler reports no kernel"
    counts = [{name: count for name, (count, _) in each.items()} for each in (ours, theirs)]
    assert counts[0] == counts[1], {
        name: [each.get(name) for each in counts]
        for name in counts[0] | counts[1]
        if counts[0].get(name) != counts[1].get(name)
    }
    (FOLDER / "kernels.json").write_text(json.dumps({"recorded": ours, "torch.profiler": theirs}, indent=1))
    total, expected = (sum(time for _, time in each.values()) for each in (ours, theirs))
    assert abs(total - expected) <= 0.01 * expected, (total, expected)
    off = {name: abs(ours[name][1] / time - 1) for name, (_, time) in theirs.items() if time > expected / 20}
    assert max(off.values()) <= 0.01, off
    kernels = modules.kernel_times(events)
    table = trace.table("module")
    times = dict(zip(table["where"], table["gpu_total"], strict=True))
    wrong = [
        f"{row}: {times.get(row)} ns recorded, {time} ns in torch.profiler"
        for row, time in kernels.items()
        if row
        and time > kernels[""] / 200
        and abs(times.get(row, 0) - time) > _allowed_difference(time / kernels[""]) * time
    ]
    assert not wrong, "; ".join(wrong)
    kernels_text = f"{len(ours)} names, {sum(counts[0].values())} kernels in 5 steps"
    return f"{kernels_text}, {total / 5e6:.1f} ms per step; names differ by {100 * max(off.values()):.2f} % at most"


def _allowed_difference(share: float) -> float:
    """Return by which part the times of a module with this share of the time may differ in two runs."""
    return 0.01 if share > 0.05 else 0.02


PROFILED = """
import sys
import torch, fastdispatch
rows = torch.randn(512, 512, device="cuda")
graph = fastdispatch.CallGraph(None, steps="all") if sys.argv[1] == "recorded" else None
def steps(count):
    for _ in range(count):
        (rows @ rows).tanh().sum().item()
        if graph:
            graph.step()
if graph:
    graph.start()
steps(3)
kinds = torch.profiler.ProfilerActivity
with torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA]) as profile:
    steps(5)
steps(3)
if graph:
    graph.stop()
print(sum(event.device_type == torch.autograd.DeviceType.CUDA for event in profile.events()))
"""


def _printed(program: str, *forms: str) -> list[str]:
    """What the program prints in each form; they run at the same time, because imports take long."""
    pipe = subprocess.PIPE
    commands = [[sys.executable, "-c", program, form] for form in forms]
    started = [subprocess.Popen(command, text=True, stdout=pipe, stderr=pipe) for command in commands]
    printed = []
    for process in started:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        printed.append(output)
    return printed


def a_profiler_loses_nothing(device: str) -> str:
    """torch.profiler, started in a recorded step, reports as many events of the GPU as without the recorder."""
    printed = [int(text.splitlines()[-1]) for text in _printed(PROFILED, "plain", "recorded")]
    assert printed[0] == printed[1] > 0, printed
    return f"{printed[0]} events"


def utilization_of_a_product(device: str) -> str:
    """MFU of bf16 products of 8192 x 8192, and the rate of their kernels, are those of CUDA events around the same
    products, within 3 %."""
    from fastdispatch.report.report_flops import flop_report  # with the extra view

    matrix = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times: list[float] = []  # ms

    def work() -> None:
        begin.record()
        for _ in range(20):
            matrix @ matrix
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))

    for _ in range(10):
        work()  # the GPU lowers its clock under load
    times.clear()
    trace = record(work, "kernels", 10, measure="flops")
    timed = 10 * 20 * 2 * 8192**3 / (sum(times) / 1e3)
    made = flop_report(trace, by="operator", rank=None, sort="total", top=1, hide=False, peak=None)
    (product,) = made.rows
    assert made.steps == 10 and made.on_kernels and product.rate is not None
    assert abs(product.rate / timed - 1) < 0.03, (product.rate, timed)
    assert made.mfu is not None and made.peak is not None, "the peak of this GPU is unknown"
    assert abs(made.mfu * made.peak.rate / timed - 1) < 0.03, (made.mfu * made.peak.rate, timed)
    return f"{timed / 1e12:.0f} TFLOP/s, MFU {100 * made.mfu:.1f} % of {made.peak.source}"


def warmed(forward: Callable[[], torch.Tensor]) -> torch.Tensor:
    """Call on another stream, as captures do: libraries set themselves up, which cannot be captured."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        made = forward()
    torch.cuda.synchronize()
    return made


def time_of_replays(graph: torch.cuda.CUDAGraph) -> float:
    """GPU time of ten replays without the recorder, ns."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(10):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1e6


def capture_of_a_graph(device: str) -> str:
    """A captured stream has no marks; the replay is timed as a whole, has its kernels, and computes the same."""
    weights = torch.randn(2048, 2048, device=device)
    rows = torch.randn(2048, 2048, device=device)

    def forward() -> torch.Tensor:
        out = rows
        for _ in range(8):
            out = torch.tanh(out @ weights)
        return out

    expected = warmed(forward)
    kept: list[torch.Tensor] = []
    graph = torch.cuda.CUDAGraph()

    def capture() -> None:
        with torch.cuda.graph(graph):
            kept.append(forward())

    def replay() -> None:
        graph.replay()

    captured = record(capture, "functions", 1)
    assert captured.ranks[0]["counters"]["gpu_captured"] > 0
    replayed = record(replay, "functions", 10)
    sound(replayed)
    assert torch.equal(kept[0], expected), "the graph computes something else"
    nodes, contexts = replayed.nodes, replayed.contexts
    row = next(i for i, node in enumerate(contexts["node"]) if nodes["key"][node].endswith(":[]:replay"))
    whole = time_of_replays(graph)
    assert contexts["gpu_calls"][row] == 10
    assert abs(contexts["gpu_total"][row] - whole) <= 0.1 * whole, (contexts["gpu_total"][row], whole)
    kernels = record(replay, "kernels", 10)
    sound(kernels)
    assert sum(kernels.contexts["gpu_calls"]) >= 10 * 16, "16 kernels a replay"
    assert gpu_time_of(kernels, ":[]:replay") == sum(kernels.contexts["gpu_self"])
    return f"{captured.ranks[0]['counters']['gpu_captured']} calls without marks; a replay takes {whole / 1e7:.2f} ms"


def gpu_time_of(trace: fastdispatch.Trace, end: str) -> int:
    """GPU time of the outermost calls of the functions whose keys end so."""
    contexts, keys = trace.contexts, trace.nodes["key"]
    inside: list[bool] = []
    total = 0
    for row, (node, parent) in enumerate(zip(contexts["node"], contexts["parent"], strict=True)):
        above = parent >= 0 and inside[parent]
        inside.append(above or keys[node].endswith(end))
        total += contexts["gpu_total"][row] if inside[row] and not above else 0
    return total


def product(rows: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    return rows @ weights


def activation(rows: torch.Tensor) -> torch.Tensor:
    return torch.tanh(rows)


def lines_of_a_graph(device: str) -> str:
    """Kernels of replays belong to the two functions that captured them, exactly; all of them take as long as replays
    without the recorder, within 5 %: the clock of the GPU varies."""
    weights = torch.randn(8192, 8192, device=device) / 128
    rows = torch.randn(8192, 8192, device=device)

    def forward() -> torch.Tensor:
        out = rows
        for _ in range(2):
            out = activation(product(out, weights))
        return out

    warmed(forward)
    graph = torch.cuda.CUDAGraph()
    captured: list[torch.Tensor] = []

    def step() -> None:
        if not captured:
            with torch.cuda.graph(graph):
                captured.append(forward())
        graph.replay()

    trace = record(step, "kernels", 10)
    names, nodes = trace.nodes["name"], trace.contexts["node"]
    tanh = sum(time for node, time in zip(nodes, trace.contexts["gpu_self"], strict=True) if "tanh" in names[node])
    products = sum(trace.contexts["gpu_self"]) - tanh
    found = gpu_time_of(trace, ":[]:product"), gpu_time_of(trace, ":[]:activation")
    assert found == (products, tanh) and products > tanh > 0, (found, kernels_by_name(trace))
    whole = time_of_replays(graph)
    assert abs(sum(found) - whole) <= 0.05 * whole, (found, whole)
    left = trace.ranks[0]["counters"]["gpu_unfinished"]
    return f"{products / 1e7:.3f} and {tanh / 1e7:.3f} ms per replay; {left} launches without a kernel"


def compiled_code(device: str) -> str:
    """All kernels of compiled code have a launch, and are below the compiled module or its backward, those of Inductor
    by name, and with lines of the model."""
    import torch._inductor.config

    training = Training(device, SMALL, 2)
    training.model = torch.compile(training.model)  # type: ignore[assignment]
    with torch._inductor.config.patch({"trace.provenance_tracking_level": 1}):
        for _ in range(3):
            training.step()
    torch.cuda.synchronize()
    trace = record(training.step, "kernels", 5)
    sound(trace)
    contexts, nodes = trace.contexts, trace.nodes
    known = trace.ranks[0]["meta"]["gpu_kernels"]
    assert known["unknown"] == 0, known
    assert "<no call path>" not in nodes["key"]
    of_inductor, roots = Counter[str](), set()
    for row, node in enumerate(contexts["node"]):
        if nodes["kind"][node] == "kernel" and nodes["name"][node].startswith("triton_"):
            of_inductor[nodes["name"][node]] += contexts["gpu_calls"][row]
            above = contexts["parent"][row]
            assert nodes["kind"][contexts["node"][above]] != "thread", nodes["name"][node]
            while contexts["parent"][above] >= 0:
                above = contexts["parent"][above]
            roots.add(nodes["key"][contexts["node"][above]])
    assert len(of_inductor) >= 4 and all(count % 5 == 0 for count in of_inductor.values()), of_inductor
    origins = [origin for origin in kernel_origins(trace).values() if origin["operators"]]
    known = [origin for origin in origins if any(line["file"] == pretrain.__file__ for line in origin["lines"])]
    assert known, origins
    names = f"{len(of_inductor)} names by Inductor, {len(known)} of them with lines of the model"
    return f"{sum(of_inductor.values())} kernels of {names}, in threads {sorted(roots)}"


def several_streams(device: str) -> str:
    """Each stream is a track; the intervals of one stream do not overlap unless one contains the other."""
    rows = torch.randn(1024, 1024, device=device)
    streams = [torch.cuda.Stream() for _ in range(3)]

    def work() -> None:
        for stream in streams:
            with torch.cuda.stream(stream):
                (rows @ rows).sum()
        (rows @ rows).sum()
        torch.cuda.synchronize()

    work()
    trace = record(work, "kernels", 4, timeline=True)
    sound(trace)
    tracks = gpu_slices(trace)
    assert len(tracks) == 4, sorted(tracks)
    assert len({len(slices) for slices in tracks.values()}) == 1
    check_nesting(tracks)
    return f"4 tracks with {len(min(tracks.values()))} slices each"


def gpu_slices(trace: fastdispatch.Trace) -> dict[str, list[tuple[float, float]]]:
    """(begin, end) in microseconds of the slices of each stream, from Chrome's form of the timeline."""
    events = json.loads(trace.export("chrome"))["traceEvents"]
    names = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event["ph"] == "M" and event["name"] == "thread_name"
    }
    tracks: dict[str, list[tuple[float, float]]] = {}
    for event in events:
        track = names.get((event["pid"], event.get("tid")), "")
        if event["ph"] == "X" and track.startswith("GPU "):
            tracks.setdefault(track, []).append((event["ts"], event["ts"] + event["dur"]))
    return tracks


def check_nesting(tracks: dict[str, list[tuple[float, float]]]) -> None:
    for track, slices in tracks.items():
        slices.sort(key=lambda pair: (pair[0], -pair[1]))
        around: list[float] = []
        for begin, end in slices:
            while around and around[-1] <= begin:
                around.pop()
            assert not around or end <= around[-1] + 0.001, f"{track}: a slice ends after the one around it"
            around.append(end)


def forms_of_gpu(device: str) -> str:
    """Each form of ``gpu=`` times the calls that it names, in one of ten steps."""
    training = Training(device, SMALL, 2)
    training.step()
    expected = {
        "off": set(),
        "auto": {"kernel"},
        "require": {"kernel"},
        "modules": {"python"},
        "functions": {"python"},
        "*:[Block]:*": {"python"},
    }
    for form, kinds in expected.items():
        trace = record(training.step, form, 10, always=False)
        sound(trace)
        nodes, contexts, meta = trace.nodes, trace.contexts, trace.ranks[0]["meta"]
        timed = [i for i, count in enumerate(contexts["gpu_calls"]) if count]
        kernels = kinds == {"kernel"} and "problem" not in meta["gpu_kernels"]  # else times of modules
        found = {nodes["kind"][contexts["node"][i]] for i in timed}
        assert found == (kinds if kernels or kinds != {"kernel"} else {"python"}), form
        assert meta.get("gpu_steps", 0) == (10 if kernels else form != "off"), form
        if "Block" in form:
            assert {nodes["class"][contexts["node"][i]] for i in timed} == {"Block"}
    for wrong in ("sometimes", "modules,", "ops", "modules+sometimes"):
        try:
            fastdispatch.CallGraph(None, gpu=wrong)
        except fastdispatch.Error:
            continue
        raise AssertionError(f"gpu={wrong!r} is accepted")
    return f"{len(expected)} forms"


def memory_stays_level(device: str) -> str:
    """Hundreds of steps with marks allocate nothing on the GPU, and no more events than fit into the pool."""
    training = Training(device, SMALL, 2)
    for _ in range(3):
        training.step()
    is_gpu = torch.device(device).type == "cuda"
    before = torch.cuda.memory_allocated() if is_gpu else 0
    trace = record(training.step, "functions", MANY)
    after = torch.cuda.memory_allocated() if is_gpu else 0
    sound(trace)
    assert after == before, f"{after - before} bytes more"
    used = device_of(trace)
    assert used["marks"] >= 2 * sum(trace.contexts["gpu_calls"]) > MANY * 20
    assert used["events"] <= 65_536
    return f"{used['marks']} marks with {used['events']} events, {before >> 10} KB allocated before and after"


def results_unchanged(device: str) -> str:
    """Losses are bit-identical with and without marks."""
    losses = []
    deterministic = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        for gpu in ("off", "kernels", "functions"):
            training = Training(device, SMALL, 2)
            found: list[float] = []
            record(lambda training=training, found=found: found.append(training.step()), gpu, 10)
            losses.append(found)
    finally:
        torch.use_deterministic_algorithms(deterministic)
    assert losses[0] == losses[1] == losses[2] and len(set(losses[0])) > 1
    return f"10 losses, the last is {losses[0][-1]:.6f}"


FAULT = """
import sys
import torch, fastdispatch
graph = fastdispatch.CallGraph(None) if sys.argv[1] == "marks" else None
if graph:
    graph._gpu_always = True
    graph.start()
table = torch.zeros(4, device="cuda")
try:
    table[torch.full((2,), 9, device="cuda")].sum().item()
except RuntimeError as error:
    print(type(error).__name__, str(error).splitlines()[0])
if graph:
    graph.stop()
"""


def errors_untouched(device: str) -> str:
    """An assertion of a kernel, which makes the GPU unusable, raises the same error in the program."""
    printed = _printed(FAULT, "plain", "marks")
    assert printed[0] and printed[0] == printed[1], printed
    return printed[0].strip()


def timeline_of_a_training(device: str) -> str:
    """Slices of the stream are as many as intervals, in the order of their launches, and none begins before it."""
    training = Training(device, SMALL, 2)
    training.step()
    trace = record(training.step, "functions", 3, timeline=True)
    sound(trace)
    tracks = gpu_slices(trace)
    assert sum(map(len, tracks.values())) == sum(trace.contexts["gpu_calls"])
    check_nesting(tracks)
    for slices in tracks.values():
        assert all(first[0] <= second[0] for first, second in pairwise(slices))
    return f"{sum(map(len, tracks.values()))} slices on {len(tracks)} tracks"


def collectives_of_one_rank(device: str) -> str:
    """Work of NCCL is below the operators that start it, with their bytes, and one rank waits for no other."""
    from fastdispatch.report.report_collectives import collectives  # with the extra view

    moved, calls = torch.ones(1 << 20, device=device), 5
    gathered = torch.empty_like(moved)
    with tempfile.TemporaryDirectory(prefix="fastdispatch-gpu-") as folder:
        torch.distributed.init_process_group("nccl", init_method=f"file://{folder}/store", rank=0, world_size=1)
        try:
            work = functools.partial(torch.distributed.all_gather_into_tensor, gathered, moved)
            work()
            trace = record(work, "kernels", calls, measure="comm")
        finally:
            torch.distributed.destroy_process_group()
    sound(trace)
    keys = [trace.nodes["key"][node] for node in trace.contexts["node"]]
    (row,) = (row for row, key in enumerate(keys) if key == "c10d::_allgather_base_")
    assert trace.contexts["calls"][row] == calls
    assert trace.contexts["gpu_total"][row] == sum(trace.contexts["gpu_self"]) > 0
    assert communicated(trace.ranks)[row, "float32 0:1", 0] == [1, calls, calls * moved.nbytes, calls * moved.nbytes]
    assert all(not each.waited_ns for each in collectives(trace))
    return f"{seconds(trace.contexts['gpu_total'][row])} in {calls} calls"


#: Those that need no kernels come first; ``errors_untouched`` starts other processes.
CHECKS = (
    forms_of_gpu,
    results_unchanged,
    memory_stays_level,
    timeline_of_a_training,
    collectives_of_one_rank,
    several_streams,
    capture_of_a_graph,
    lines_of_a_graph,
    compiled_code,
    errors_untouched,
    planted_faults,
    planted_idle_time,
    utilization_of_a_product,
    a_profiler_loses_nothing,
    memory_against_the_allocator,
    kernels_against_the_profiler,
    costs_of_steps,
)
