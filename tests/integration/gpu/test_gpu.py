"""GPU intervals end to end, on the stand-in CUDA runtime of ``tests/standin``: hooks, file, tables.

None of it needs a GPU."""

import ctypes
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.measures.memory_report import DeviceReport, memory_report
from tests import commands, processes, standin

pytestmark = [pytest.mark.torch, standin.needs_compiler]

WORK = 300_000  # ns of "kernel" in standin::work
#: Not "shifted": the quality of an anchor depends on the load of the machine.
COUNTERS = ("captured", "lost", "dropped", "unfinished", "events_lost")


Runs = Callable[[str], "Run"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The recordings of tests/isolated/gpu_training.py, by name."""
    folder = standin.build(tmp_path_factory.mktemp("standin"))
    printed = json.loads(processes.run_warm("gpu_training.py", folder, folder / "out"))
    return lambda name: Run(printed[name], folder / "out" / name)


class Run(standin.Run):
    def __init__(self, printed: dict[str, Any], out: Path) -> None:
        super().__init__(printed, out)
        self.counters = {name: self.rank["counters"][f"gpu_{name}"] for name in COUNTERS}

    def rows(self, *kinds: str) -> list[int]:
        return [row for row, kind in enumerate(self.kinds) if kind in kinds]


def check_sums(run: Run) -> None:
    """Totals are sums of self over subtrees, and agree with the measurements."""
    contexts = run.contexts
    totals = list(contexts["gpu_self"])
    for row in range(len(totals) - 1, -1, -1):
        if contexts["parent"][row] >= 0:
            totals[contexts["parent"][row]] += totals[row]
    assert totals == contexts["gpu_total"]
    measured = dict(zip(run.rank["gpu"]["context"], run.rank["gpu"]["total"], strict=True))
    for row, total in measured.items():
        if contexts["gpu_calls"][row]:
            # Nested intervals are rounded one by one.
            assert abs(total - contexts["gpu_total"][row]) <= 20 + contexts["gpu_calls"][row], run.names[row]


def test_functions_of_sampled_steps(runs: Runs) -> None:
    run = runs("sampled")  # the 9th and the 41st of 42 steps
    assert run.printed["waits"] == 0
    assert run.counters == dict.fromkeys(COUNTERS, 0)
    assert run.rank["meta"]["gpu_steps"] == 2
    calls, timed = run.contexts["calls"], run.contexts["gpu_calls"]
    assert sum(1 for count in timed if count) > 30
    for row, count in enumerate(timed):
        assert calls[row] == 21 * count or not count or run.contexts["resumes"][row], run.names[row]
    assert not any(timed[row] for row in run.rows("op", "autograd", "thread", "range"))
    (device,) = run.rank["meta"]["gpu_devices"]["devices"]
    assert (device["device"], device["streams"], device["marks"]) == (0, 1, 2 * sum(timed))
    check_sums(run)


def test_kernels_are_timed_where_they_are_launched(runs: Runs) -> None:
    run = runs("all")
    contexts = run.contexts
    forward = run.row("[Net]:forward")
    backward = [contexts["gpu_total"][row] for row, kind in enumerate(run.kinds) if kind == "thread"]
    assert contexts["gpu_total"][forward] >= 10 * WORK
    assert sum(backward) == sum(contexts["gpu_self"])
    function = run.trace.table("function")
    row = function["where"].index(next(key for key in function["where"] if key.endswith("[Net]:forward")))
    assert function["gpu_total"][row] == contexts["gpu_total"][forward]
    assert function["gpu_calls"][row] == 10
    assert run.rank["meta"]["gpu_steps"] == 10


def test_modules_functions_and_globs(runs: Runs) -> None:
    run = runs("named")
    timed = {name: count for name, count in zip(run.names, run.contexts["gpu_calls"], strict=True) if count}
    keys = {name.rpartition("/")[2]: count for name, count in timed.items()}
    assert keys == {
        "gpu_training.py:[]:train_step": 10,
        "gpu_training.py:[Net]:forward": 10,
        "linear.py:[Linear]:forward": 10,
    }
    assert sum(run.contexts["gpu_calls"]) == 10 + 10 + 2 * 10  # two Linears
    assert not any(run.contexts["gpu_starved"])  # launches between marks are not recorded
    assert run.counters == dict.fromkeys(COUNTERS, 0)
    check_sums(run)
    assert run.contexts["gpu_total"][run.row("train_step")] >= 10 * WORK


def test_jobs(runs: Runs) -> None:
    run = runs("jobs")
    (forward,) = run.rows("job")
    assert run.contexts["calls"][forward] == 42
    assert [count for count in run.contexts["gpu_calls"] if count] == [run.contexts["gpu_calls"][forward]] == [2]
    assert run.contexts["gpu_total"][forward] >= 2 * WORK
    check_sums(run)


def test_jobs_have_gpu_intervals(runs: Runs, tmp_path: Path) -> None:
    """In Trace.jobs, beside the job's slice, and as a slice of its stream, without a second job."""
    pytest.importorskip("perfetto")
    from tests.consumers.perfetto import assert_clean, open_trace, query

    trace = fastdispatch.load(runs("jobs").out, timeline=True)
    jobs = trace.jobs(0)
    assert jobs["micro_batch"] == [step for step in range(56) if step % 4]  # the recorded steps
    timed = [row for row, device in enumerate(jobs["device"]) if device == 0]
    assert timed == [8, 40]
    for row in timed:
        assert jobs["gpu_start"][row] >= jobs["start"][row]
        assert jobs["gpu_duration"][row] >= WORK - 1  # rounded by CUDA and by ticks
    for form, name in (("perfetto", "jobs.pftrace"), ("chrome", "jobs.json")):
        path = tmp_path / name
        path.write_bytes(trace.export(form))
        with open_trace(path) as processor:
            assert_clean(processor)
            counts = {row["category"]: row["n"] for row in query(processor, CATEGORIES)}
            assert (counts["job"], counts["gpu_job"]) == (42, 2)
            intervals = {(row["name"].partition(" (")[0], row["gpu_ns"]) for row in query(processor, OF_JOBS)}
            expected = {(f"forward mb{jobs['micro_batch'][row]}", jobs["gpu_duration"][row]) for row in timed}
            assert intervals == expected
            (flights,) = query(processor, IN_FLIGHT)
            assert (flights["most"], flights["least"]) == (1, 0)
            assert flights["n"] == 4  # up and down
    assert max(row["count"] for row in commands.document("timeline", "stats", path)["jobs"]) == 42


def test_streams_selected_in_python(runs: Runs) -> None:
    """A PyTorch without the C++ function: the stream is queried with the GIL."""
    run = runs("old")
    calls, timed = run.contexts["calls"], run.contexts["gpu_calls"]
    assert run.printed["asked"] > 100
    assert sum(1 for row, count in enumerate(timed) if count == calls[row]) > 30


def test_an_exception_in_the_middle(runs: Runs) -> None:
    run = runs("raise")
    work = run.row("gpu_training.py:[]:_work")
    assert run.contexts["calls"][work] == run.contexts["gpu_calls"][work] == 10
    assert run.counters["lost"] == run.counters["unfinished"] == 0
    assert run.printed["losses"][4] == 0.0
    check_sums(run)


def test_an_error_ends_timing_and_nothing_else(runs: Runs) -> None:
    sound = runs("all")
    run = runs("error")
    assert run.printed["losses"] == sound.printed["losses"]
    assert run.printed["error"] == 700  # the program still gets it
    (device,) = run.rank["meta"]["gpu_devices"]["devices"]
    assert device["error"] == "cudaEventRecord failed with error 700: the GPU is not timed from there on"
    calls, others = run.contexts["calls"], sound.contexts["calls"]
    assert sum(calls[row] for row in run.rows("op")) == sum(others[row] for row in sound.rows("op"))
    assert run.counters["lost"] > 0
    assert run.printed["records"] < sound.printed["records"]


#: The driver's names of the functions that are called, as csrc/gpu/gpu_runtime.c has them.
DRIVER = {
    "cudaEventCreateWithFlags": "cuEventCreate",
    "cudaEventRecord": "cuEventRecord",
    "cudaEventQuery": "cuEventQuery",
    "cudaEventElapsedTime": "cuEventElapsedTime",
    "cudaEventDestroy": "cuEventDestroy_v2",
    "cudaStreamCreateWithFlags": "cuStreamCreate",
    "cudaStreamDestroy": "cuStreamDestroy_v2",
    "cudaStreamIsCapturing": "cuStreamIsCapturing",
    "cudaStreamQuery": "cuStreamQuery",
    "cudaGetDevice": "cuCtxGetDevice",
    "cudaThreadExchangeStreamCaptureMode": "cuThreadExchangeStreamCaptureMode",
}


HIP = {name: name.replace("cuda", "hip", 1) for name in (*DRIVER, "cudaPeekAtLastError", "cudaGetLastError")}

#: PyTorch for ROCm exports these before 2.11, and the names of CUDA since.
HIP_STREAMS = {
    "_ZN3c104cuda20getCurrentCUDAStreamEa": "_ZN3c103hip19getCurrentHIPStreamEa",
    "_ZNK3c104cuda10CUDAStream6streamEv": "_ZNK3c103hip9HIPStream6streamEv",
}


@pytest.mark.parametrize(
    ("library", "names", "streams", "stream_names"),
    [
        ("libcuda.so.1", DRIVER, "libc10_cuda.so", {}),
        ("libamdhip64.so.6", HIP, "libc10_hip.so", HIP_STREAMS),
        ("libamdhip64.so", HIP, "libc10_hip.so", {}),
    ],
)
def test_other_runtimes_give_the_same_intervals(
    runs: Runs, tmp_path: Path, library: str, names: dict[str, str], streams: str, stream_names: dict[str, str]
) -> None:
    """CUDA's driver, as in programs with a linked runtime, and HIP: the stand-in under their names."""
    standin.build_as(tmp_path, "cudart.c", library, names)
    standin.build_as(tmp_path, "c10_cuda.c", streams, stream_names)
    printed = processes.run_warm("gpu_training.py", tmp_path, tmp_path / "out", "all", library, streams)
    run, same = Run(json.loads(printed)["all"], tmp_path / "out" / "all"), runs("all")
    assert run.rank["meta"]["gpu_devices"]["library"] == library
    assert "gpu_missing" not in run.rank["meta"]
    assert run.printed["asked"] == 0  # the stream is not read from Python
    assert run.printed["losses"] == same.printed["losses"]
    assert run.printed["waits"] == 0
    timed = [
        {name: count for name, count in zip(each.names, each.contexts["gpu_calls"], strict=True) if count == 10}
        for each in (run, same)
    ]
    assert timed[0] == timed[1] and len(timed[0]) > 30
    assert run.counters == dict.fromkeys(COUNTERS, 0)
    check_sums(run)


def real_runtimes() -> list[Path]:
    return sorted(Path("/usr/local").glob("cuda*/lib*/libcudart.so.1?"))


@pytest.mark.skipif(not real_runtimes(), reason="no libcudart below /usr/local")
def test_the_real_runtime_without_a_driver(tmp_path: Path) -> None:
    """The runtime is found and reports no device; the training continues without GPU timing."""
    program = f"""
import ctypes, json
cuda = ctypes.CDLL({str(real_runtimes()[-1])!r}, mode=ctypes.RTLD_GLOBAL)
import torch, fastdispatch
if cuda.cudaGetDevice(ctypes.byref(ctypes.c_int())) == 0:
    print(json.dumps("a driver"))
    raise SystemExit
before = cuda.cudaGetLastError()  # the error stays
try:
    fastdispatch.CallGraph({str(tmp_path / "a")!r}, gpu="require").start()
except fastdispatch.Error as error:
    printed = str(error)
torch.cuda.is_initialized = lambda: True
torch._C._cuda_getCurrentRawStream = lambda device: 0
with fastdispatch.CallGraph({str(tmp_path / "b")!r}, gpu="functions") as graph:
    for _ in range(10):
        torch.ones(3).sum()
        graph.step()
print(json.dumps([printed, cuda.cudaGetLastError() == before]))
"""
    answer = json.loads(processes.python_program("-c", program).stdout)
    if answer == "a driver":
        pytest.skip("there is a driver here")
    assert "torch.cuda.is_available() is false" in answer[0]
    assert answer[1]
    trace = fastdispatch.load(tmp_path / "b")
    assert trace.ranks[0]["gpu"]["context"] == []
    assert trace.meta["gpu_devices"]["devices"] == []
    assert "aten::sum" in trace.nodes["name"]


def test_the_stand_in_is_not_in_this_process() -> None:
    with pytest.raises(OSError):
        ctypes.CDLL("libcudart.so.13", mode=ctypes.RTLD_LOCAL | 4)  # RTLD_NOLOAD


def test_streams_in_the_real_trace_processor(runs: Runs, tmp_path: Path) -> None:
    """Every interval is a slice of its stream, with an arrow from the call that launched it; the same in all forms."""
    pytest.importorskip("perfetto")
    from tests.consumers.perfetto import assert_clean, open_trace, query

    run = runs("all")
    trace = fastdispatch.load(run.out, timeline=True)
    count = sum(run.contexts["gpu_calls"])
    assert count > 200
    for form, name in (("perfetto", "t.pftrace"), ("chrome", "t.json")):
        (tmp_path / name).write_bytes(trace.export(form))
    for name in ("merged.pftrace", "merged.json"):
        commands.out("timeline", "merge", run.out, "-o", tmp_path / name)
    found = []
    for name in ("t.pftrace", "t.json", "merged.pftrace", "merged.json"):
        with open_trace(tmp_path / name) as processor:
            assert_clean(processor)
            assert query(processor, ON_STREAM) == [{"n": count}]
            arrows = count + trace.ranks[0]["flows"]
            assert query(processor, "select count(*) as n from flow") == [{"n": arrows}]
            assert query(processor, JOINED) == [{"n": count}]
            found.append(query(processor, ARROWS))
    assert len(found[0]) == arrows
    assert found[1:] == [found[0]] * 3


CATEGORIES = "select category, count(*) as n from slice group by category"
OF_JOBS = """
select slice.name, args.int_value as gpu_ns from slice join args using (arg_set_id)
where category in ('job', 'gpu_job') and args.key in ('debug.gpu_ns', 'args.gpu_ns')"""
IN_FLIGHT = """
select count(*) as n, max(value) as most, min(value) as least from counter
join counter_track on counter_track.id = track_id where counter_track.name like 'GPU 0 marked calls in flight%'"""
ON_STREAM = """
select count(*) as n from slice join track on track.id = track_id
left join thread_track on thread_track.id = track.id left join thread using (utid)
where coalesce(track.name, thread.name) = 'GPU 0 stream 0'"""
JOINED = """
select count(*) as n from flow join slice a on a.id = slice_out join slice b on b.id = slice_in
where a.name = b.name and b.ts >= a.ts and a.track_id != b.track_id"""
ARROWS = """
select a.name as begin, b.name as end, a.ts - first as begin_ts, b.ts - first as end_ts, a.dur as begin_dur,
b.dur as end_dur from flow join slice a on a.id = slice_out join slice b on b.id = slice_in,
(select min(ts) as first from slice) order by begin_ts, end_ts, begin_dur, end_dur, begin, end"""


# -- measure="memory" on a GPU -----------------------------------------------------------------------------------------


def recorded(folder: Path, end: str, status: int = 0) -> tuple[dict[str, object], list[DeviceReport]]:
    """The figures of the program's model, and the devices of the report."""
    library = standin.build(folder)
    done = processes.python(processes.ISOLATED / "gpu_memory.py", library, folder / "run", end, folder=folder)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout), memory_report(fastdispatch.load(folder / "run")).devices


def nonzero(parts: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in parts.items() if value}


@pytest.mark.parametrize("end, status", [("return", 0), ("raise", 1), ("kill", -signal.SIGKILL)])
def test_the_peak_and_a_failed_allocation(tmp_path: Path, end: str, status: int) -> None:
    """Both are those of the allocator, to the byte, also in the file of a killed process; blocks from before the
    recording are a separate part."""
    model, (cpu, gpu) = recorded(tmp_path, end, status)
    assert (cpu.device, gpu.device, cpu.refused) == ("cpu", "cuda:0", None)
    assert gpu.peak == model["peak"] == sum(gpu.parts.values())
    assert gpu.at_peak.reserved == model["reserved"]
    assert gpu.refused is not None
    assert gpu.refused.parts == model["held"]
    found = (gpu.refused.failures, gpu.refused.requested, gpu.refused.reserved, gpu.refused.step)
    assert found == (1, model["requested"], model["held_reserved"], 4)
    assert gpu.refused.where.endswith("Block]:forward") or gpu.refused.where.endswith(":take")
    if end == "return":  # else the blocks of the failed call are not freed: in which phase is not known
        assert nonzero(gpu.parts) == model["parts"]


def test_the_text_names_the_failure_and_who_held_what(tmp_path: Path) -> None:
    recorded(tmp_path, "kill", -signal.SIGKILL)
    lines = commands.out("report", tmp_path / "run", "--memory").splitlines()
    text = " ".join(lines)
    assert text.startswith("out of memory on cuda:0 in step 4 at gpu_memory.py:")
    assert "activations" in text and "not recorded 7 MB" in text and "1 failed allocation" in text
    table = next(line for line in lines if line.split()[:2] == ["share", "bytes"])
    assert "at failure" in table and "device" in table
    assert any("cuda:0" in line and "parameters" in line for line in lines)
    assert any(" cpu " in line and "parameters" in line for line in lines)
