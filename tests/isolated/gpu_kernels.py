"""Trainings on the CPU with a simulated GPU: the stand-in CUPTI of tests/standin, and records of a real one.

Arguments: folder of the libraries, folder for the recordings, and optionally the names of runs. Prints one JSON object
by the names of RUNS.
"""

import ctypes
import gzip
import json
import os
import random
import struct
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import torch

import fastdispatch
from fastdispatch.record import doctor

_calls: list[Callable[[], None]] = []


@torch.library.custom_op("standin::launch", mutates_args=())
def _launch(x: torch.Tensor) -> torch.Tensor:
    _calls.pop()()
    return x.clone()


_launch.register_fake(lambda x: torch.empty_like(x))


@torch.compile(backend="eager")
def region(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.standin.launch(2 * x)


# Compiled before PyTorch seems to have a GPU.
_calls.append(lambda: None)
region(torch.ones(4))

#: Kernels of products by precision.
GEMMS = {
    "fp32": b"cutlass_80_simt_sgemm_128x128_8x4_nn_align1",
    "tf32": b"sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16_stage4_tensor16x8x8_kernel",
    "own": b"my_own_gemm",
}


@torch.library.custom_op("standin::product", mutates_args=())
def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    _calls.pop()()
    return a @ b


@fastdispatch.flop_formula("standin::product")
def _flops(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    return 2 * a[0] * a[1] * b[1]


class Layer(torch.nn.Module):
    def __init__(self, make_calls: Callable[[], None]) -> None:
        super().__init__()
        self.make_calls = make_calls

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        _calls.append(self.make_calls)
        return torch.ops.standin.product(x, x)


folder, out = sys.argv[1:3]
ctypes.CDLL(f"{folder}/libcudart.so.13", mode=ctypes.RTLD_GLOBAL)
ctypes.CDLL(f"{folder}/libc10_cuda.so", mode=ctypes.RTLD_GLOBAL)
cupti = ctypes.CDLL(f"{folder}/libcupti.so.13", mode=ctypes.RTLD_GLOBAL)
nvml = ctypes.CDLL(f"{folder}/libnvidia-ml.so.1", mode=ctypes.RTLD_GLOBAL)
ctypes.CDLL(f"{folder}/libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
cupti.standin_cupti_name.argtypes = [ctypes.c_uint64, ctypes.c_char_p]
cupti.standin_cupti_records.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
cupti.standin_cupti_launch.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64]
cupti.standin_cupti_thread.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64]
cupti.standin_cupti_node.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
cupti.standin_cupti_calls.restype = ctypes.c_uint64
torch.cuda.is_initialized = torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: 1
torch.cuda.get_device_name = lambda: "NVIDIA H100 80GB HBM3"
#: Functions of CUPTI that fail in a run, and their errors.
REFUSALS = {
    "denied": (b"cuptiSubscribe_v2", 35),
    "no_driver": (b"cuptiSubscribe_v2", 15),
    "mig": (b"cuptiActivityEnable", 43),
    "no_buffers": (b"cuptiActivityRegisterCallbacks", 7),
}
#: Versions of CUPTI with other records.
VERSIONS = {"old": 21, "new": 140100}
#: Names of kernels by their pointers.
NAMES = {1: "gemm", 2: "ncclDevKernel_AllReduce"}
PROGRAMS = ("eager", "compiled", "graph")
RECORDS = Path(__file__).parent.parent / "standin" / "records"


@torch.library.custom_op("standin::gemm", mutates_args=())
def _gemm(x: torch.Tensor) -> torch.Tensor:
    cupti.standin_cupti_launch(b"_Z4gemmPf", 300, 0)
    return x.clone()


@torch.library.custom_op("standin::gemm_backward", mutates_args=())
def _gemm_backward(x: torch.Tensor) -> torch.Tensor:
    cupti.standin_cupti_launch(b"_Z8gemm_bwdPf", 500, 0)
    return x.clone()


gemm = torch.ops.standin.gemm
_gemm.register_autograd(lambda context, gradient: torch.ops.standin.gemm_backward(gradient))


def load_batch() -> torch.Tensor:
    cupti.standin_cupti_launch(None, 40, 4096)
    return torch.ones(4)


def forward(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return gemm(gemm(weight * x))


def train_step(weight: torch.Tensor) -> None:
    forward(weight, load_batch()).sum().backward()
    weight.grad = None


def train(graph: fastdispatch.CallGraph, steps: int) -> None:
    weight = torch.ones(4, requires_grad=True)
    for _ in range(steps):
        train_step(weight)
        graph.step()


def moved(records: bytes, offset: int) -> bytes:
    """The records, later by nanoseconds."""
    sizes = {1: 96, 2: 88, 10: 216}
    made = bytearray(records)
    at = 0
    while at < len(made):
        times = struct.unpack_from("<QQ", made, at + 16)
        struct.pack_into("<QQ", made, at + 16, *(time + offset for time in times))
        at += sizes[made[at]]
    return bytes(made)


def in_region(make_calls: Callable[[], None]) -> None:
    _calls.append(make_calls)
    region(torch.ones(4))


def replay(
    name: str, *, today: bool = False, around: Callable[[Callable[[], None]], None] = lambda make_calls: make_calls()
) -> Callable[[fastdispatch.CallGraph], None]:
    """Make the calls of a real program, and return its records, unchanged or with times after the calls."""
    calls = json.loads(gzip.decompress((RECORDS / f"{name}.json.gz").read_bytes()))
    raw = gzip.decompress((RECORDS / f"{name}.bin.gz").read_bytes())

    def make_calls() -> None:
        for launch in calls["launches"]:
            cupti.standin_cupti_call(*launch)

    def run(graph: fastdispatch.CallGraph) -> None:
        for pointer, text in calls["names"]:
            cupti.standin_cupti_name(pointer, text.encode())
        around(make_calls)
        at = 0
        offset = time.time_ns() + 1_000_000 - struct.unpack_from("<Q", raw, 8 + 16)[0] if today else 0
        while at < len(raw):
            (size,) = struct.unpack_from("<Q", raw, at)
            cupti.standin_cupti_records(moved(raw[at + 8 : at + 8 + size], offset), size)
            at += 8 + size
        graph.step()

    return run


def product(node: int) -> None:
    cupti.standin_cupti_node(node, 0)


def activation(node: int) -> None:
    cupti.standin_cupti_node(node, 0)


def captured(graph: fastdispatch.CallGraph) -> None:
    """Capture a CUDA graph of three products and three tanh, and replay it: the replays are real ones. The numbers of
    the nodes at the capture are made up: those of the records are of the copy that runs."""
    first, copy = 1 << 32, 2 << 32
    for node in range(0, 6, 2):
        product(first + node)
        activation(first + node + 1)
    for node in range(6):
        cupti.standin_cupti_node(copy + node, first + node)
    replay("graph", today=True)(graph)


def traced(graph: fastdispatch.CallGraph) -> None:
    """Launch the kernels of a compiled region of which Inductor has tracked the provenance of one."""
    frames = ("7, in train\n    step()", "9, in loss\n    x.sum()")
    stack = "".join(f'  File "{__file__}", line {frame}\n' for frame in frames)
    provenance = {"triton_poi_fused__to_copy_2:1": [stack], "extern_kernels.mm:2": [stack]}
    metrics = torch._dynamo.utils.CompilationMetrics(inductor_provenance={json.dumps(provenance), "malformed"})
    torch._dynamo.utils._compilation_metrics.append(metrics)
    replay("compiled", around=in_region)(graph)


def in_layer(make_calls: Callable[[], None]) -> None:
    Layer(make_calls)(torch.ones(64, 64, dtype=torch.bfloat16))


def precisions(graph: fastdispatch.CallGraph) -> None:
    """Multiply float32 in three layers: in float32, in TF32, and with a kernel of unknown precision."""
    launch = cupti.standin_cupti_launch
    layers = {name: Layer(lambda kernel=kernel: launch(kernel, 1000, 0)) for name, kernel in GEMMS.items()}
    model = torch.nn.Sequential(OrderedDict(layers))
    for _ in range(3):
        model(torch.ones(32, 32))
        graph.step()


def throttled(graph: fastdispatch.CallGraph) -> None:
    """Train on a GPU whose clock is low after the first look, with an error."""
    nvml.standin_nvml_set(1980, 500_000, ctypes.c_uint64(0))
    train_for_looks(graph, 1)
    nvml.standin_nvml_set(1200, 700_000, ctypes.c_uint64(4))
    nvml.standin_nvml_error(ctypes.c_uint64(79), ctypes.c_uint64(0))
    train_for_looks(graph, 5)


def train_for_looks(graph: fastdispatch.CallGraph, looks: int) -> None:
    """Train until the recorder has read the clock so often."""
    last = nvml.standin_nvml_looks() + looks
    while nvml.standin_nvml_looks() < last:
        train(graph, 1)
        time.sleep(0.01)


def others_in_a_layer(graph: fastdispatch.CallGraph) -> None:
    """Multiply in a layer that also copies and communicates."""

    def make_calls() -> None:
        cupti.standin_cupti_launch(GEMMS["tf32"], 1000, 0)
        cupti.standin_cupti_launch(b"ncclDevKernel_AllReduce", 700, 0)
        cupti.standin_cupti_launch(None, 300, 64)

    layer = Layer(make_calls)
    for _ in range(3):
        layer(torch.ones(32, 32))
        graph.step()


def threads(graph: fastdispatch.CallGraph) -> None:
    """Launch kernels on threads without Python code."""
    train(graph, 1)
    for number in (b"pt_nccl_17", b"pt_nccl_18"):
        cupti.standin_cupti_thread(number, b"ncclDevKernel_AllReduce", 700)
    graph.step()


def record_of(name: int, device: int, stream: int, correlation: int, start: int, ns: int) -> bytes:
    """A record of a kernel, or without a name of a copy."""
    made = bytearray(216 if name else 96)
    struct.pack_into("<I", made, 0, 10 if name else 1)
    struct.pack_into("<QQ", made, 16, start, start + ns)
    for offset, value in zip((40, 48, 92) if name else (32, 40, 44), (device, stream, correlation), strict=True):
        struct.pack_into("<I", made, offset, value)
    if name:
        struct.pack_into("<Q", made, 104, name)
    return bytes(made)


def launch_all(ids: range) -> None:
    for number in ids:
        cupti.standin_cupti_call(1, 307, number)


def devices(graph: fastdispatch.CallGraph) -> None:
    """Launch work of two devices with two streams each in three threads; the works of a step overlap."""
    chosen = random.Random(7)
    for pointer, name in NAMES.items():
        cupti.standin_cupti_name(pointer, name.encode())
    works = []
    for step in range(10):
        ids = [range(1 + 90 * step + 30 * part, 31 + 90 * step + 30 * part) for part in range(3)]
        threads = [threading.Thread(target=launch_all, args=(part,)) for part in ids[1:]]
        for thread in threads:
            thread.start()
        launch_all(ids[0])
        for thread in threads:
            thread.join()
        begin = time.time_ns() + 10_000
        made = []
        for number in (number for part in ids for number in part):
            kind = chosen.choice([0, *NAMES]), chosen.randrange(2), chosen.choice([7, 13])
            made.append((*kind, number, begin + chosen.randrange(400_000), chosen.randrange(1, 20_000)))
        records = b"".join(record_of(*work) for work in made)
        cupti.standin_cupti_records(records, len(records))
        works += [(step, *work) for work in made]
        while time.time_ns() < begin + 500_000:
            time.sleep(0.0005)
        graph.step()
        time.sleep(0.002)  # more than clocks may differ
    Path(f"{out}/works.json").write_text(json.dumps(works))


def behind(graph: fastdispatch.CallGraph) -> None:
    """Launch a kernel in each step, of which every second one is recorded. They run one right after the other, and all
    are reported at the end."""
    cupti.standin_cupti_delay(1)
    cupti.standin_cupti_name(1, NAMES[1].encode())
    begin, ns = time.time_ns(), 10_000_000
    for step in range(16):
        cupti.standin_cupti_call(1, 307, step + 1)
        record = record_of(1, 0, 7, step + 1, begin + step * ns, ns)
        cupti.standin_cupti_records(record, len(record))
        graph.step()
    cupti.standin_cupti_delay(0)


def profile(graph: fastdispatch.CallGraph) -> None:
    """Use torch.profiler in the middle."""
    disabled = cupti.standin_cupti_calls(b"cuptiActivityDisable")
    train(graph, 3)
    while sum(fastdispatch.load(graph.path).ranks[0]["gpu"]["calls"]) < 15:
        time.sleep(0.01)  # records that are not delivered are the profiler's
    registered = cupti.standin_cupti_calls(b"cuptiActivityRegisterCallbacks")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        cupti.standin_cupti_take_over()
        train(graph, 2)
        assert cupti.standin_cupti_calls(b"cuptiActivityRegisterCallbacks") == registered
    assert cupti.standin_cupti_calls(b"cuptiActivityDisable") == disabled
    train(graph, 3)


def fork(graph: fastdispatch.CallGraph) -> None:
    train(graph, 2)
    child = os.fork()
    if child == 0:
        train(graph, 1)
        graph.stop()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    train(graph, 2)


def schedule(step: int) -> int:
    return 2 * (step % 3 > 0)


def every_second(step: int) -> int:
    return 2 * (step % 2)


RUNS = {
    "train": (lambda graph: train(graph, 10), {"steps": "all"}),
    "windows": (lambda graph: train(graph, 30), {"schedule": schedule}),
    "traces": (lambda graph: train(graph, 3), {"steps": "all", "et": True}),
    "profile": (profile, {"steps": "all"}),
    "captured": (captured, {"steps": "all", "timeline": True}),
    "region": (replay("compiled", around=in_region), {"steps": "all"}),
    "layer": (replay("eager", around=in_layer), {"steps": "all", "measure": "flops"}),
    "precisions": (precisions, {"steps": "all", "measure": "flops"}),
    "throttled": (throttled, {"steps": "all"}),
    "others": (others_in_a_layer, {"steps": "all", "measure": "flops"}),
    "threads": (threads, {"steps": "all"}),
    "devices": (devices, {"steps": "all", "timeline": True}),
    "behind": (behind, {"schedule": every_second}),
    "fork": (fork, {"steps": "all"}),
    **{name: (lambda graph: train(graph, 3), {"steps": "all"}) for name in ("held", *VERSIONS, *REFUSALS)},
    **{name: (replay(name), {"steps": "all"}) for name in PROGRAMS},
    **{f"{name}_timeline": (replay(name, today=True), {"steps": "all", "timeline": True}) for name in PROGRAMS},
    "traced": (traced, {"steps": "all"}),
}


def record(name: str) -> dict[str, object]:
    run, options = RUNS[name]
    cupti.standin_cupti_reset()
    nvml.standin_nvml_set(0, 0, ctypes.c_uint64(1))  # idle
    if name == "held":
        cupti.standin_cupti_hold(b"Nsight Systems")
    elif name in VERSIONS:
        cupti.standin_cupti_version(VERSIONS[name])
    elif name in REFUSALS:
        cupti.standin_cupti_fail(*REFUSALS[name])
    (check,) = [each for each in doctor.checks(Path(out)) if each.id == "gpu"]
    registered = cupti.standin_cupti_calls(b"cuptiActivityRegisterCallbacks")
    with fastdispatch.CallGraph(f"{out}/{name}", **options) as graph:
        run(graph)
    return {
        "kinds": cupti.standin_cupti_kinds(),
        "flushes": cupti.standin_cupti_calls(b"cuptiActivityFlushAll"),
        "doctor": check.text,
        "windows": cupti.standin_cupti_calls(b"cuptiActivityRegisterCallbacks") - registered,
    }


print(json.dumps({name: record(name) for name in (sys.argv[3:] or RUNS)}))
