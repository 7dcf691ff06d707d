"""Programs with planted faults and without, planted idle time, and costs. Each check leaves figures in ``FOLDER``."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import fastdispatch

Step = Callable[[], object]

#: Where the checks leave recordings, reports and figures.
FOLDER = Path("gpu-results")

#: Rows, width and layers of the model: a step takes 20 to 40 ms of an H100, several times as long as its launches.
ROWS, WIDTH, LAYERS = 16384, 4096, 8
STEPS = 24
SLICES = 400
TINY = 10_000
SLEEP = 0.06
LAUNCHES = 500
CYCLES = 16_000_000  #: 8 to 10 ms


@dataclass
class Work:
    """A model of linear layers that is trained on fixed rows."""

    device: str
    dtype: torch.dtype = torch.float32
    autocast: bool = True
    small: int = 0  # further parameters of one element each
    fused: bool = True
    layers: int = 0

    def __post_init__(self) -> None:
        torch.manual_seed(0)
        linear = [
            torch.nn.Linear(WIDTH, WIDTH, device=self.device, dtype=self.dtype) for _ in range(self.layers or LAYERS)
        ]
        self.model = torch.nn.Sequential(*(part for each in linear for part in (each, torch.nn.GELU())))
        self.more = [torch.nn.Parameter(torch.zeros(1, device=self.device)) for _ in range(self.small)]
        self.nothing = torch.zeros(1, device=self.device)
        self.rows = torch.randn(ROWS, WIDTH, device=self.device, dtype=self.dtype)
        parameters = [*self.model.parameters(), *self.more]
        forms: dict[str, Any] = {"fused": True} if self.fused else {"foreach": False}
        self.optimizer = torch.optim.AdamW(parameters, lr=1e-5, **forms)

    def backward(self, rows: torch.Tensor | None = None) -> None:
        with torch.autocast(self.device, torch.bfloat16, enabled=self.autocast):
            loss = self.model(self.rows if rows is None else rows).square().mean()
        loss.backward()
        for each in self.more:
            each.grad = self.nothing

    def step(self, rows: torch.Tensor | None = None) -> None:
        self.backward(rows)
        self.optimizer.step()
        self.optimizer.zero_grad()


def slices(device: str, fault: bool, wait: Callable[[torch.Tensor], object]) -> Step:
    """Waits for each row; without the fault for none."""
    work = Work(device)

    def step() -> None:
        work.step()
        for row in range(SLICES):
            each = work.rows[row].sum()
            if fault:
                wait(each)

    return step


def reads(device: str, fault: bool) -> Step:
    return slices(device, fault, torch.Tensor.item)


def synchronizes(device: str, fault: bool) -> Step:
    return slices(device, fault, lambda each: torch.cuda.synchronize())


def pageable(device: str, fault: bool) -> Step:
    work = Work(device)
    host = [torch.zeros(1_500_000 * ROWS // 16384) for _ in range(8)]
    host = host if fault or device == "cpu" else [each.pin_memory() for each in host]

    def step() -> None:
        for each in host:
            each.to(device, non_blocking=not fault).sum()
        work.step()

    return step


def cpu_optimizer(device: str, fault: bool) -> Step:
    work = Work(device, layers=2)
    masters = [torch.nn.Parameter(each.detach().cpu().clone()) for each in work.model.parameters()]
    optimizer = torch.optim.AdamW(masters, lr=1e-5)

    def step() -> None:
        if not fault:
            work.step()
            return
        work.backward()
        for master, each in zip(masters, work.model.parameters(), strict=True):
            assert each.grad is not None
            master.grad = each.grad.cpu()
        optimizer.step()
        with torch.no_grad():
            for master, each in zip(masters, work.model.parameters(), strict=True):
                each.copy_(master)
        work.model.zero_grad()

    return step


def tiny_kernels(device: str, fault: bool) -> Step:
    work = Work(device)
    count = torch.zeros(1, device=device)

    def step() -> None:
        for _ in range(TINY if fault else 1):
            count.add_(1)
        work.step()

    return step


def input_wait(device: str, fault: bool) -> Step:
    work = Work(device)

    def load_batch() -> torch.Tensor:
        time.sleep(SLEEP if fault else 0)
        return work.rows

    def step() -> None:
        work.step(load_batch())

    return step


def float64(device: str, fault: bool) -> Step:
    work = Work(device, torch.float64, autocast=False, layers=2) if fault else Work(device)
    return work.step


def no_autocast(device: str, fault: bool) -> Step:
    work = Work(device, autocast=not fault, layers=2)
    return work.step


def unfused(device: str, fault: bool) -> Step:
    work = Work(device, small=500, fused=not fault)
    return work.step


#: A kernel that runs for a number of cycles, for the compiler of the driver: no toolkit is needed. Its name is that of
#: one of NCCL, which needs several GPUs.
_COLLECTIVE = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry ncclDevKernel_Planted(.param .u32 cycles)
{
    .reg .pred %again;
    .reg .u32 %count;
    .reg .u64 %wanted, %begin, %passed;
    ld.param.u32 %count, [cycles];
    cvt.u64.u32 %wanted, %count;
    mov.u64 %begin, %clock64;
LOOP:
    mov.u64 %passed, %clock64;
    sub.u64 %passed, %passed, %begin;
    setp.lt.u64 %again, %passed, %wanted;
    @%again bra LOOP;
    ret;
}
"""


def communicates(device: str, fault: bool) -> Step:
    """A collective after the step; without the fault beside it, on another stream."""
    work = Work(device)
    if device == "cpu":
        return work.step
    name = "ncclDevKernel_Planted"
    collective = torch.cuda._utils._cuda_load_module(_COLLECTIVE, [name])[name]
    main = torch.cuda.current_stream()
    side = main if fault else torch.cuda.Stream()

    def all_reduce() -> None:
        with torch.cuda.stream(side):
            collective(args=[CYCLES])

    def step() -> None:
        if not fault:
            all_reduce()
        work.step()
        if fault:
            all_reduce()
        main.wait_stream(side)

    return step


#: Program and accepted first findings.
FAULTS: tuple[tuple[Callable[[str, bool], Step], set[str]], ...] = (
    (reads, {"host-sync"}),
    (synchronizes, {"host-sync"}),
    (pageable, {"device-copy"}),
    (cpu_optimizer, {"device-copy", "host-sync"}),
    (tiny_kernels, {"tiny-ops", "launch-bound"}),
    (input_wait, {"input-wait"}),
    (float64, {"double-precision"}),
    (no_autocast, {"single-precision"}),
    (unfused, {"unfused-optimizer"}),
    (communicates, {"exposed-comm"}),
)


def recorded(name: str, step: Step, steps: int) -> tuple[fastdispatch.Trace, list[str]]:
    """Record calls of a step into ``FOLDER/name``, and leave the report and the findings beside it. Return the ids of
    the findings, too."""
    out = FOLDER / name
    with fastdispatch.CallGraph(str(out), steps="all") as graph:
        for _ in range(steps):
            step()
            graph.step()
    trace = fastdispatch.load(out)
    with suppress(ModuleNotFoundError):  # without the extra view
        from fastdispatch.report.report_model import report
        from fastdispatch.report.report_rows import ReportOptions

        document = report(trace, ReportOptions(top=20)).as_json()
        (FOLDER / f"{name}.report.json").write_text(json.dumps(document, indent=1))
    found = fastdispatch.findings(out)
    (FOLDER / f"{name}.findings.txt").write_text(str(found))
    return trace, [each.id for each in found.findings]


def planted_faults(device: str) -> str:
    """The first finding of each program is its fault; its clean twin has no finding about the GPU."""
    wrong, about_gpu = [], set().union(*(ids for _, ids in FAULTS))
    for make, ids in FAULTS:
        for fault in (True, False):
            name = f"{make.__name__}-{'fault' if fault else 'twin'}"
            try:
                _, found = recorded(name, make(device, fault), STEPS)
            except Exception as error:  # the other programs are checked, too
                wrong.append(f"{name}: {error!r}")
                continue
            if fault and (not found or found[0] not in ids):
                wrong.append(f"{name}: {found[:3]}, not {sorted(ids)}")
            elif not fault and set(found) & about_gpu:
                wrong.append(f"{name}: {found[:3]}")
            if device == "cuda":
                torch.cuda.empty_cache()
    assert not wrong, "; ".join(wrong)
    return f"{len(FAULTS)} faults, and the same programs without them"


def planted_idle_time(device: str) -> str:
    """The time of a sleep, while the GPU has no work, is idle time of the function that sleeps, within 5 %; uses and
    causes add up to the time of the device."""
    work = Work(device, layers=2)
    slept: list[float] = []

    def nap() -> None:
        begin = time.perf_counter()
        time.sleep(0.005)
        slept.append(time.perf_counter() - begin)

    def step() -> None:
        work.step()
        torch.cuda.synchronize()
        nap()

    trace, _ = recorded("idle", step, STEPS)
    known = trace.ranks[0]["meta"]["gpu_kernels"]
    (one,) = known["devices"]
    parts = sum(value for name, value in one.items() if name not in ("device", "window_ns"))
    assert parts == one["window_ns"], one
    rows = [row for row, node in enumerate(trace.contexts["node"]) if trace.nodes["name"][node] == "nap"]
    idle = sum(trace.contexts["gpu_starved"][row] for row in rows)
    expected = sum(slept[-known["busy_steps"] :]) * 1e9
    assert abs(idle - expected) <= 0.05 * expected, (idle, expected, one)
    share = (one["host_ns"] + one["end_ns"]) / one["window_ns"]
    return f"{idle / known['busy_steps'] / 1e6:.3f} ms per step in nap, idle {100 * share:.1f} % because of the host"


#: torch.profiler is last: it keeps CUPTI after its first use.
SIDES: dict[str, Callable[[], Any]] = {
    "untraced": nullcontext,
    "default": lambda: fastdispatch.CallGraph(None),
    "recorded step": lambda: fastdispatch.CallGraph(None, schedule=lambda step: 2 * (step % 2)),
    'steps="all"': lambda: fastdispatch.CallGraph(None, steps="all"),
    "torch.profiler": lambda: torch.profiler.profile(activities=torch.profiler.supported_activities()),
}


def _step_time(work: Step, side: str, steps: int) -> float:
    """Return the median time of a step, with all of its kernels; of those that are recorded if they are few."""
    times = []
    with SIDES[side]() as recorder:
        for _ in range(steps + 4):
            begin = time.perf_counter()
            work()
            torch.cuda.synchronize()
            if isinstance(recorder, fastdispatch.CallGraph):
                recorder.step()
            times.append(time.perf_counter() - begin)
    return statistics.median(times[5::2] if side == "recorded step" else times[4:])


def _prices(device: str) -> dict[str, float]:
    """Return the host time in ns that kernels add to a launch, by kind: recorded with them and without."""
    if device == "cpu":
        return {}
    small = torch.zeros(64, device=device)
    other = small.clone()
    graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    small.add_(1)  # loads the kernel
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=side):
        small.add_(1)
    calls = {
        "a launch": lambda: small.add_(1),
        "a copy": lambda: other.copy_(small),
        "a graph launch": graph.replay,
    }
    return {kind: max(_price(call, "kernels") - _price(call, "off"), 0.0) for kind, call in calls.items()}


def _price(call: Step, gpu: str) -> float:
    """Return the median time of a launch in a recorded step, ns; the GPU is not waited for."""
    times = []
    with fastdispatch.CallGraph(None, steps="all", gpu=gpu) as graph:
        for _ in range(9):
            begin = time.perf_counter()
            for _ in range(LAUNCHES):
                call()
            times.append((time.perf_counter() - begin) / LAUNCHES)
            torch.cuda.synchronize()
            graph.step()
    return 1e9 * statistics.median(times[2:])


def costs_of_steps(device: str) -> str:
    """The costs, in another process: this one may have used torch.profiler, which keeps CUPTI."""
    command = [sys.executable, "-m", "tests.gpu", "costs"]
    done = subprocess.run(command, text=True, capture_output=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def costs(device: str) -> str:
    """Steps with and without the recorder, alternating: rows for docs/concepts/overhead.md, and the price of a kernel.
    torch.profiler comes last."""
    from tests.gpu.checks import SMALL, Training

    large, tiny = Work(device), Training(device, SMALL, 2)
    programs = {"large": (large.step, 3), "tiny": (tiny.step, 5)}
    times: dict[str, dict[str, list[float]]] = {name: {side: [] for side in SIDES} for name in programs}
    for name, (work, rounds) in programs.items():
        for _ in range(3):
            work()
        for _ in range(rounds):
            for side in list(SIDES)[:-1]:
                times[name][side].append(_step_time(work, side, 12))
    trace, _ = recorded("tiny", tiny.step, 12)
    kernels = sum(trace.contexts["gpu_calls"]) / 12
    prices = _prices(device)
    for name, (work, rounds) in programs.items():
        times[name]["torch.profiler"] = [_step_time(work, "torch.profiler", 12) for _ in range(rounds)]
    lines = []
    for name, found in times.items():
        base = statistics.median(found["untraced"])
        for side, each in found.items():
            middle = statistics.median(each)
            lines.append(f"| GPU, {name} step: {side} | {1e3 * middle:.2f} ms | {middle / base:.3f} |")
    tiny_steps = times["tiny"]
    price = 1e9 * (statistics.median(tiny_steps['steps="all"']) - statistics.median(tiny_steps["untraced"]))
    lines.append(f"| GPU, a kernel of a recorded tiny step, everything on | {price / max(kernels, 1):.0f} ns | |")
    lines += [f"| GPU, {kind}: CUPTI alone | {ns:.0f} ns | |" for kind, ns in prices.items()]
    (FOLDER / "costs.md").write_text("\n".join(lines) + "\n")
    (FOLDER / "costs.json").write_text(json.dumps({"steps": times, "prices": prices, "kernels": kernels}))
    return "\n" + "\n".join(lines)
