"""Kernels in the call graph end to end, on the stand-in CUPTI of ``tests/standin``: with simulated kernels, and with
the records of an H100. None of it needs a GPU."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.page import html_data
from fastdispatch.read.execution_trace import et_info
from fastdispatch.report.report_facts import facts
from fastdispatch.text.kernel_names import short_kernel_name
from tests import commands, processes, standin

pytestmark = [pytest.mark.torch, standin.needs_compiler]

TRACES = Path(__file__).parents[2] / "gold" / "gpu"

#: Of one step: two kernels of 300 ns in the forward, two of 500 ns in the backward, a copy of 40 ns.
STEP = {"_Z4gemmPf": (2, 600), "_Z8gemm_bwdPf": (2, 1000), "Memcpy HtoD (Pageable -> Device)": (1, 40)}


class Run(standin.Run):
    def __init__(self, printed: dict[str, Any], out: Path) -> None:
        super().__init__(printed, out)
        self.meta = self.rank["meta"]
        self.losses = {name: n for name, n in self.rank["counters"].items() if name.startswith("gpu_") and n}

    def kernels(self) -> dict[str, tuple[int, int]]:
        """Count and time by name."""
        found: dict[str, tuple[int, int]] = {}
        for row, kind in enumerate(self.kinds):
            if kind == "kernel":
                count, ns = found.get(self.names[row], (0, 0))
                more, longer = self.contexts["gpu_calls"][row], self.contexts["gpu_self"][row]
                found[self.names[row]] = (count + more, ns + longer)
        return found

    def total(self, name: str) -> int:
        return self.contexts["gpu_total"][self.row(name)]


Runs = Callable[[str], Run]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = standin.build(tmp_path_factory.mktemp("standin"))
    printed = json.loads(processes.run("gpu_kernels.py", folder, folder / "out").stdout.splitlines()[-1])
    return lambda name: Run(printed[name], folder / "out" / name)


def of_steps(steps: int) -> dict[str, tuple[int, int]]:
    return {name: (steps * count, steps * ns) for name, (count, ns) in STEP.items()}


def test_kernels_are_below_the_functions_that_launch_them(runs: Runs) -> None:
    run = runs("train")
    assert run.kernels() == of_steps(10)
    assert run.losses == {}
    assert run.meta["gpu_steps"] == 10
    facts = run.meta["gpu_kernels"]
    known = {"library": "libcupti.so.13", "version": 130001, "kernels": 50, "ns": 16400, "unknown": 0}
    assert facts == facts | known
    assert facts["busy_steps"] == 7  # without the first three
    (device,) = facts["devices"]
    assert device["compute_ns"] == 7 * 1600
    assert device["copy_ns"] == 7 * 40
    assert sum(device.values()) - device["device"] == 2 * device["window_ns"]
    assert device["undecided_ns"] == 0
    idle = device["host_ns"] + device["end_ns"]
    assert sum(run.rank["gpu"]["starved"]) == idle > 0.9 * device["window_ns"]
    assert run.total("gpu_kernels.py:[]:forward") == 6000
    assert run.total(":load_batch") == 400
    assert run.total(":[]:train_step") == sum(run.contexts["gpu_self"]) == 16400
    for row, kind in enumerate(run.kinds):
        assert (run.contexts["gpu_self"][row] > 0) == (kind == "kernel")
        assert kind != "kernel" or run.contexts["calls"][row] == run.contexts["self"][row] == 0
    figures = run.rank["gpu"]
    kernels = [row for row, calls in enumerate(figures["calls"]) if calls]
    assert sorted(figures["bytes"][row] for row in kernels) == [0, 0, 40960]
    assert {(figures["device"][row], figures["stream"][row]) for row in kernels} == {(0, 7)}
    assert run.contexts["gpu_backward"][run.row("gpu_kernels.py:[]:forward")] == 10_000
    assert run.printed["kinds"] == 0
    loaded = "libcudart.so.13 and libcupti.so.13 are loaded: kernels are recorded"
    assert run.printed["doctor"] == f"{loaded}, clocks and power through libnvidia-ml.so.1"


@pytest.mark.parametrize(("name", "steps"), [("windows", 20), ("fork", 4)])
def test_kernels_of_all_recorded_steps(runs: Runs, name: str, steps: int) -> None:
    """Of two of three steps; of a program that forks, whose child leaves CUPTI alone."""
    run = runs(name)
    assert run.kernels() == of_steps(steps)
    assert run.losses == {}
    assert run.meta["gpu_steps"] == steps
    assert run.printed["windows"] == (10 if name == "windows" else 1)


@pytest.mark.parametrize(
    ("name", "count", "ns", "others"),
    [("eager", 612, 1_267_907, 18), ("compiled", 351, 661_672, 18), ("graph", 21, 47_201, 3)],
)
def test_sums_of_real_records_are_exact(runs: Runs, name: str, count: int, ns: int, others: int) -> None:
    run = runs(name)
    kernels = {key: each for key, each in run.kernels().items() if not key.startswith(("Memcpy ", "Memset"))}
    assert sum(each for each, _ in kernels.values()) == count
    assert sum(each for _, each in kernels.values()) == ns
    assert sum(each for each, _ in run.kernels().values()) == count + others
    assert run.losses == {}
    assert run.meta["gpu_kernels"]["unknown"] == 0
    assert "<unnamed>" not in kernels


def test_kernels_of_compiled_code_are_below_the_compiled_region(runs: Runs) -> None:
    """The launches of a program that Inductor compiled for an H100, made by an operator in a compiled function."""
    run = runs("region")
    assert run.kernels() == runs("compiled").kernels()
    assert run.total(":region") == sum(run.contexts["gpu_self"]) == run.meta["gpu_kernels"]["ns"]
    lines = commands.out("report", run.out, "--by", "kernel", "--top", "100")
    names = {name for name in run.kernels() if name.startswith("triton_")}
    assert len(names) > 20
    assert all(name in lines or short_kernel_name(name) in lines for name in names)


def test_kernels_of_inductor_have_their_operators_or_lines(runs: Runs) -> None:
    run = runs("traced")
    origins = {
        row["where"]: row["origin"]
        for row in commands.document("report", run.out, "--by", "kernel", "--top", "100")["rows"]
    }
    line = {"function": "loss", "file": str(processes.ISOLATED / "gpu_kernels.py"), "line": 9}
    assert origins["triton_poi_fused__to_copy_2"] == {"operators": ["_to_copy"], "lines": [line]}
    assert origins["triton_poi_fused_add_arange_0"] == {"operators": ["add", "arange"], "lines": []}
    others = [origin for name, origin in origins.items() if not name.startswith("triton_")]
    assert len(others) > 2 and not any(others)
    listed = commands.out("report", run.out, "--by", "kernel", "--top", "100").splitlines()
    tree = commands.out("report", run.out, "--tree", "--min-percent", "0").splitlines()
    for text in (listed, tree):
        assert sum(row.endswith("triton_poi_fused__to_copy_2   loss (gpu_kernels.py:9)") for row in text) == 1
        assert any(row.endswith("triton_poi_fused_add_arange_0   fused add, arange") for row in text)
    document = commands.document("report", run.out, "--tree", "--min-percent", "0")
    assert {row["where"]: row["origin"] for row in document["tree"] if row["kind"] == "kernel"} == origins
    page = html_data.core(run.trace, "run", html_data.contexts(run.trace), facts(run.trace, None), {})[1]["nodes"]
    shown = dict(zip(page["key"], zip(page["name"], page["origin"], strict=True), strict=True))
    assert shown["triton_poi_fused__to_copy_2"] == ("triton_poi_fused__to_copy_2", "loss (gpu_kernels.py:9)")
    assert all(len(name) <= 60 for name, _ in (shown[key] for key in origins))
    assert run.meta["kernel_sources"] == [{"kernel": "triton_poi_fused__to_copy_2", "lines": [line]}]


def flops_by_module(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = commands.document("report", run.out, "--flops", "--by", "module", "--steps", "all")
    return found | {"rows": {row["where"]: row for row in found["rows"]}}


def test_flops_are_by_the_time_of_kernels(runs: Runs) -> None:
    """A layer multiplies 64 x 64 in bf16 while it launches the kernels of an H100."""
    found = flops_by_module(runs("layer"))
    layer = found["rows"]["Layer"]
    assert found["on_kernels"]
    assert (layer["flops"], layer["time"]) == (2 * 64**3, 1_267_907)
    assert layer["rate"] == pytest.approx(2 * 64**3 / 1_267_907e-9)
    assert layer["of_peak"] == pytest.approx(layer["rate"] / 989.5e12)
    assert found["peak"] == {"rate": pytest.approx(989.5e12), "source": "bf16 of NVIDIA H100 80GB HBM3"}
    assert found["mfu"] == pytest.approx(2 * 64**3 / (found["step"] * 1e-9) / 989.5e12)
    assert found["mfu"] == found["hfu"]
    others = flops_by_module(runs("others"))["rows"]["Layer"]  # copies and communication are in no rate
    assert (others["time"], others["rate"]) == (1000, pytest.approx(2 * 32**3 / 1e-6))
    lines = commands.out("report", runs("layer").out, "--steps", "all").splitlines()
    share = f"{100 * found['mfu']:.3g} %"
    assert lines[0].endswith(f"MFU {share} of 990 TFLOP/s (bf16 of NVIDIA H100 80GB HBM3), HFU {share}"), lines[0]


def test_the_kernel_decides_whether_float32_is_multiplied_in_tf32(runs: Runs) -> None:
    run = runs("precisions")
    found = flops_by_module(run)
    rate = 2 * 32**3 / 1e-6
    assert [found["rows"][name]["of_peak"] for name in ("fp32", "tf32", "own")] == [
        pytest.approx(rate / 67e12),
        pytest.approx(rate / 494.5e12),
        None,
    ]
    assert [found["rows"][name]["rate"] for name in ("fp32", "tf32", "own")] == [pytest.approx(rate)] * 3
    assert found["undecided"] == {"float32": 2 * 32**3}
    ideal = 2 * 32**3 / 67e12 + 2 * 32**3 / 494.5e12
    assert found["mfu"] == pytest.approx(ideal / (found["step"] * 1e-9))
    assert found["peak"]["rate"] == pytest.approx(2 * 2 * 32**3 / ideal)
    lines = commands.out("report", run.out, "--flops", "--steps", "all").splitlines()
    assert ", MFU at least " in lines[0] and ", HFU at least " in lines[0]
    why = "33.3 % of the FLOPs (float32, which may use TF32)"
    assert f"not in MFU and HFU, because the peak is not decided: {why}" in lines


def test_a_low_clock_has_its_reason(runs: Runs) -> None:
    """The first look finds a full clock, and at least four of the others a power cap and an error."""
    run = runs("throttled")
    (device,) = run.meta["gpu_health"]["devices"]
    looks, capped = device["looks"], device["reasons"]["power_cap"]
    assert looks >= capped >= 4
    assert device["clock_mhz"] == (1980 * (looks - capped) + 1200 * capped) // looks
    assert (device["device"], device["highest_mhz"], device["limit_mw"]) == (0, 1980, 700_000)
    assert (run.meta["gpu_health"]["xids"], run.meta["gpu_health"]["xid"]) == (1, [79])
    text = " ".join(commands.out("report", run.out).split())
    clock = f"{device['clock_mhz'] // 1000} {device['clock_mhz'] % 1000:03}"
    assert f"GPU: mean clock {clock} of 1 980 MHz, power cap, " in text
    assert text.count("; rank 0: Xid 79") == 1


def divided(works: list[tuple[int, int, int]]) -> dict[str, int]:
    """Busy times of a device by the use, begin and end of its works: each time is that of the first use."""
    sums = dict.fromkeys(("compute_ns", "communication_ns", "copy_ns", "hidden_ns"), 0)
    times = sorted({time for _, begin, end in works for time in (begin, end)})
    for begin, end in pairwise(times):
        uses = {use for use, first, last in works if first <= begin < last}
        if uses:
            sums[list(sums)[min(uses)]] += end - begin
            sums["hidden_ns"] += (end - begin) * ({0, 1} <= uses)
    return sums


def test_devices_streams_and_threads_are_apart(runs: Runs) -> None:
    """Compared with a slow version; the first three steps have no busy time."""
    run = runs("devices")
    works = json.loads((run.out.parent / "works.json").read_text())
    named = {0: "Memcpy Unknown (Unknown -> Unknown)", 1: "gemm", 2: "ncclDevKernel_AllReduce"}
    of_names: dict[str, list[int]] = {}
    streams = Counter()
    for _, name, device, stream, _, _, ns in works:
        of_names.setdefault(named[name], []).append(ns)
        streams[f"GPU {device} stream {stream}", named[name]] += 1
    assert run.kernels() == {name: (len(each), sum(each)) for name, each in of_names.items()}
    events = json.loads(fastdispatch.load(run.out, timeline=True).export("chrome"))["traceEvents"]
    tracks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    in_timeline = Counter(
        (tracks[event["tid"]], event["name"]) for event in events if event.get("cat") in ("kernel", "gpu_memcpy")
    )
    assert in_timeline == streams and len(streams) == 12
    assert run.losses == {} and run.meta["gpu_kernels"]["unknown"] == 0
    for device in run.meta["gpu_kernels"]["devices"]:
        of_device = [
            ({1: 0, 2: 1, 0: 2}[name], begin, begin + ns)
            for step, name, number, _, _, begin, ns in works
            if step >= 3 and number == device["device"]
        ]
        busy = divided(of_device)
        assert {name: device[name] for name in busy} == busy
        idle = [device[f"{cause}_ns"] for cause in ("host", "end", "launch", "wait", "undecided")]
        assert sum(idle) == device["window_ns"] - sum(busy.values()) + busy["hidden_ns"]
    host = sum(device["host_ns"] + device["end_ns"] for device in run.meta["gpu_kernels"]["devices"])
    assert sum(run.rank["gpu"]["starved"]) == host > 0


def test_a_gpu_that_is_behind_is_not_idle(runs: Runs) -> None:
    """Kernels of steps that are not recorded run between those of recorded ones: neither busy nor idle time."""
    run = runs("behind")
    assert run.kernels() == {"gemm": (8, 80_000_000)}
    (device,) = run.meta["gpu_kernels"]["devices"]
    assert device["window_ns"] == device["compute_ns"] + device["end_ns"] > 0


def test_threads_without_a_call_path_are_rows_by_role(runs: Runs) -> None:
    run = runs("threads")
    rows = [row for row, name in enumerate(run.names) if name == "ncclDevKernel_AllReduce"]
    above = {run.contexts["parent"][row] for row in rows}
    assert {(run.kinds[row], run.names[row]) for row in above} == {("thread", "pt_nccl_*")}
    assert sum(run.contexts["gpu_self"][row] for row in rows) == 1400
    assert sum(run.contexts["gpu_calls"][row] for row in rows) == 2
    assert run.meta["gpu_kernels"]["unknown"] == 0
    assert "<no call path>" not in run.names
    tree = " ".join(commands.out("report", run.out, "--tree").split())
    assert "pt_nccl_*" in tree


def test_kernels_of_a_graph_are_those_of_the_lines_that_captured_it(runs: Runs) -> None:
    """Three products and three tanh in each of three replays of an H100."""
    run = runs("captured")
    plain = runs("graph").kernels()
    assert run.kernels() == plain
    assert run.losses == {}  # captured launches have no kernel
    found = {}
    for row, kind in enumerate(run.kinds):
        if kind == "kernel":
            caller = run.names[run.contexts["parent"][row]].rpartition(":")[2]
            found[short_kernel_name(run.names[row]), caller] = run.contexts["gpu_calls"][row]
    assert found == {
        (short_kernel_name(next(name for name in plain if "gemm" in name)), "product"): 9,
        (short_kernel_name(next(name for name in plain if "tanh" in name)), "activation"): 9,
        (short_kernel_name(next(name for name in plain if "reduce" in name)), "make_calls"): 3,
        ("Memcpy DtoH (Device -> Pinned)", "make_calls"): 3,
    }
    assert run.total(":product") == plain[next(name for name in plain if "gemm" in name)][1]
    trace = fastdispatch.load(run.out, timeline=True)
    events = json.loads(trace.export("chrome"))["traceEvents"]
    assert sum(event["name"] == "cudaGraphLaunch" for event in events) == 3


def test_a_profiler_gets_its_records(runs: Runs) -> None:
    """The step that was running and the next one are torch.profiler's: launches that were noted are counted."""
    run = runs("profile")
    assert run.kernels() == of_steps(5)
    assert run.losses == {"gpu_unfinished": 5}
    assert run.meta["gpu_kernels"]["problem"] == "libcupti.so.13 is in use by torch.profiler"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("held", "libcupti.so.13 is in use by Nsight Systems: GPU times are those of modules"),
        ("profile", "libcupti.so.13 is in use by torch.profiler: kernels of some steps are missing"),
        ("old", "libcupti.so.13 is older than that of CUDA 12.4: GPU times are those of modules"),
        (
            "new",
            "libcupti.so.13 of CUDA 14.1 is newer than this version of fastdispatch, which knows CUDA 13.5: GPU times "
            "are those of modules",
        ),
        ("denied", "libcupti.so.13: no permission to trace the GPU: GPU times are those of modules"),
        ("no_driver", "libcupti.so.13: it cannot connect to the CUDA driver: GPU times are those of modules"),
        ("mig", "libcupti.so.13: Multi-Instance GPU (MIG) is not supported: GPU times are those of modules"),
        ("no_buffers", "libcupti.so.13 refuses buffers for records (error 7): GPU times are those of modules"),
    ],
)
def test_report_and_doctor_say_why_kernels_are_missing(runs: Runs, name: str, line: str) -> None:
    run = runs(name)
    assert line in " ".join(commands.out("report", run.out).split())
    assert commands.document("report", run.out)["gpu_missing"] == line
    problem = run.meta["gpu_kernels"]["problem"]
    assert line.startswith(f"{problem}: ")
    if name == "held":
        assert (run.kernels(), run.printed["flushes"], run.printed["windows"]) == ({}, 0, 0)
    if name != "profile":
        assert run.contexts["calls"][run.names.index("gpu_kernels.py:[]:train_step")] == 3
        assert run.printed["doctor"] == f"libcudart.so.13 is loaded, but {problem}: GPU times of modules, no kernels"
    assert run.printed["kinds"] == 0


def test_the_report_says_how_busy_the_gpu_was(runs: Runs) -> None:
    run = runs("train")
    facts = commands.document("report", run.out)["gpu"]
    assert (facts["kernels"], facts["time"], facts["steps"], facts["busy_steps"]) == (50, 16400, 10, 7)
    assert facts["host"] + facts["end"] == sum(place["time"] for place in facts["places"])
    names = [place["name"] for place in facts["places"]]
    assert {"backward", "gpu_kernels.py:[]:load_batch", "gpu_kernels.py:[]:forward"} <= set(names)
    found = commands.out("report", run.out).splitlines()
    assert found[0].startswith("GPU idle ") and found[0].endswith(f" % of the step: the host is late, in {names[0]}")
    assert "GPU: 50 kernels, copies and fills in 10 recorded steps, 16.4 us" in found  # in the last lines


def test_reports_list_kernels_with_short_names(runs: Runs) -> None:
    lines = commands.out("report", runs("eager").out, "--by", "kernel", "--top", "1").splitlines()
    (row,) = (line.split() for line in lines if "elementwise" in line)
    assert row == ["81", "190", "us", "190", "us", "unrolled_elementwise<copy", "f32", "cast>"]
    tree = commands.out("report", runs("train").out, "--tree")
    (row,) = (line.split() for line in tree.splitlines() if line.endswith("Memcpy HtoD (Pageable -> Device)"))
    assert row[:3] == ["10", "400", "ns"]


def test_a_pytorch_without_cupti(tmp_path: Path) -> None:
    printed = processes.run_warm("gpu_without_cupti.py", standin.build(tmp_path), tmp_path / "out")
    problem = "no libcupti is loaded"
    assert printed == f"libcudart.so.13 is loaded, but {problem}: GPU times of modules, no kernels\n"
    run = Run({}, tmp_path / "out")
    assert run.meta["gpu_kernels"] == {"problem": problem}
    line = f"{problem}: GPU times are those of modules"
    assert commands.document("report", run.out)["gpu_missing"] == line
    assert line in " ".join(commands.out("report", run.out).split())


@pytest.mark.parametrize(("end", "status"), [("exit", 0), ("raise", 1), ("kill", -9)])
def test_a_process_that_ends_loses_no_kernel(tmp_path: Path, end: str, status: int) -> None:
    process = processes.start("gpu_exit.py", standin.build(tmp_path), tmp_path / "out", end)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == status
    run = Run({}, tmp_path / "out")
    count = 30 if end == "kill" else 5
    assert run.kernels() == {"kernel": (count, 100 * count)}
    assert run.losses == {}
    assert run.rank["state"] == ("killed" if end == "kill" else "stopped")
    if end == "kill":
        steps, (device,) = run.meta["gpu_steps"], run.meta["gpu_kernels"]["devices"]
        assert 20 < steps <= 30 and run.meta["gpu_kernels"]["busy_steps"] == steps - 3
        assert sum(device.values()) - device["device"] == 2 * device["window_ns"]
        assert device["window_ns"] >= 0.8 * int(printed)
        assert commands.out("report", tmp_path / "out").startswith("GPU idle ")


def work_in(events: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Kernels, copies and fills by category and short name."""
    work = ("kernel", "gpu_memcpy", "gpu_memset")
    return Counter((event["cat"], short_kernel_name(event["name"])) for event in events if event.get("cat") in work)


def bytes_in(events: list[dict[str, Any]]) -> Counter[str]:
    moved: Counter[str] = Counter()
    for event in events:
        if event.get("cat") in ("gpu_memcpy", "gpu_memset"):
            moved[event["name"]] += event["args"]["bytes"]
    return moved


def flows_in(events: list[dict[str, Any]]) -> dict[str, list[tuple[Any, ...]]]:
    """Begins and ends of flows of launches by place."""
    found: dict[str, list[tuple[Any, ...]]] = {"s": [], "f": []}
    for event in events:
        if event.get("cat") == "ac2g":
            found[event["ph"]].append((event["id"], event["pid"], event["tid"], event["ts"]))
    return found


@pytest.mark.parametrize("name", ["eager", "compiled", "graph"])
def test_a_timeline_of_real_records_is_that_of_the_profiler(runs: Runs, tmp_path: Path, name: str) -> None:
    """The records and the trace of torch.profiler are of different steps of one program, so their counts are equal."""
    run = runs(f"{name}_timeline")
    assert run.rank["counters"]["gpu_events_lost"] == 0
    path = tmp_path / "timeline.json"
    path.write_bytes(fastdispatch.load(run.out, timeline=True).export("chrome"))
    events = json.loads(path.read_bytes())["traceEvents"]
    profiled = json.loads(gzip.decompress((TRACES / f"{name}.kineto.json.gz").read_bytes()))["traceEvents"]
    assert work_in(events) == work_in(profiled)
    assert bytes_in(events) == bytes_in(profiled)

    work = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    calls = {event["args"]["correlation"]: event for event in events if str(event.get("cat")).startswith("cuda_")}
    assert {event["args"]["correlation"] for event in work} == set(calls)
    launching = {event["args"]["correlation"] for event in profiled if event.get("cat") in ("kernel", "gpu_memcpy")}
    fills = sum(event.get("cat") == "gpu_memset" for event in profiled)
    assert len(calls) == len(launching) + fills
    flows = flows_in(events)
    assert len(flows["s"]) == len(calls)
    assert len(flows["f"]) == len(work)
    assert {flow[0] for flow in flows["f"]} == {flow[0] for flow in flows["s"]}
    assert {flow[1:] for flow in flows["s"]} == {(event["pid"], event["tid"], event["ts"]) for event in calls.values()}
    assert Counter(flow[1:] for flow in flows["f"]) == Counter(
        (event["pid"], event["tid"], event["ts"]) for event in work
    )
    assert commands.document("timeline", "check", path)["whole"]


@pytest.mark.parametrize("name", ["eager", "compiled", "graph"])
def test_figures_of_a_timeline_are_those_of_the_records(runs: Runs, tmp_path: Path, name: str) -> None:
    run = runs(f"{name}_timeline")
    made = commands.document("timeline", "stats", run.out)
    theirs = commands.document("timeline", "stats", TRACES / f"{name}.kineto.json.gz")
    (gpu,), (other,) = made["gpus"], theirs["gpus"]
    assert [(row["kind"], row["count"]) for row in gpu["kinds"]] == [
        (row["kind"], row["count"]) for row in other["kinds"]
    ]
    recorded = run.kernels()
    ns = {name: ns for name, (_, ns) in recorded.items()}
    in_timeline = {row["name"]: row["total"] for row in made["names"] if row["kind"]}
    # Times in the timeline are ticks of the recording: each of 2 ns at most.
    assert in_timeline.keys() == ns.keys()
    assert all(abs(in_timeline[name] - ns[name]) <= 2 * recorded[name][0] for name in ns)
    (launches,), (launched,) = made["launches"], theirs["launches"]
    assert launches["delay"]["count"] == launched["delay"]["count"]
    assert (launches["repeated"], launches["early"]) == (0, 0)
    assert [(row["device"], row["count"]) for row in made["streams"]] == [
        (row["device"], row["count"]) for row in theirs["streams"]
    ]


def test_kernels_are_in_execution_traces(runs: Runs, tmp_path: Path) -> None:
    """Below the operators that launched them; the copy of load_batch is outside of operators."""
    commands.out("et", "export", runs("traces").out, "-o", tmp_path / "et")
    assert et_info(tmp_path / "et" / "trace.0.et")["gpu"] == 3 * 4
