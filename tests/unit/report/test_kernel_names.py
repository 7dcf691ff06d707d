"""Short names of kernels: mangled and plain names of libraries, and all kernels of three traces of an H100."""

import gzip
import json

import pytest

from fastdispatch.read.compilations import fused_operators
from fastdispatch.text import kernel_names
from fastdispatch.text.kernel_names import short_kernel_name, short_kernel_names
from tests.lint.tree import ROOT

GOLD = ROOT / "tests" / "gold"
NAMES = [line.split("\t") for line in (GOLD / "kernel_names.tsv").read_text().splitlines()]

FUSED = {
    "triton_poi_fused_add_relu_3": "add, relu",
    "triton_per_fused__to_copy_add_native_layer_norm_native_layer_norm_backward_view_13": (
        "_to_copy, add, native_layer_norm, native_layer_norm_backward, view"
    ),
    "triton_red_fused__log_softmax__log_softmax_backward_data_nll_loss_forward_0": (
        "_log_softmax, _log_softmax_backward_data, nll_loss_forward"
    ),
    "triton_poi_fused__foreach_add_mul_1": "_foreach_add, mul",
    "triton_poi_fused_add_0_0d1d2": "add",
    "cpp_fused_add_relu_threshold_backward_0": "add, relu, threshold_backward",
    "triton_poi_fused_0": "",
    "triton_poi_fused_add_arange_native_lay": "",  # cut
    "cudnn_generated_fort_native_sdpa": "",
}


def test_names_of_libraries() -> None:
    assert [short_kernel_name(full) for _, full in NAMES] == [short for short, _ in NAMES]


@pytest.mark.parametrize("program", ["eager", "compiled", "graph"])
def test_kernels_of_a_trace_have_different_names(program: str) -> None:
    events = json.loads(gzip.decompress((GOLD / "gpu" / f"{program}.kineto.json.gz").read_bytes()))["traceEvents"]
    full = {event["name"] for event in events if event.get("cat") == "kernel"}
    short = {short_kernel_name(name) for name in full}
    assert len(short) == len(full) and max(map(len, short)) <= 60


def test_equal_short_names_get_numbers() -> None:
    causal = [f"flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, half_t>, {of}>(Params)" for of in "01"]
    assert short_kernel_names(causal) == ["flash_fwd<f16 64x128x128>", "flash_fwd<f16 64x128x128> #2"]


def test_a_cut_name() -> None:
    assert all(len(short_kernel_name.__wrapped__(full[:cut])) <= 60 for _, full in NAMES for cut in range(0, 600, 23))
    assert short_kernel_name("void copy_kernel<4, {half, float}>(int)") == "copy<4>"


def test_names_made_to_exhaust_memory() -> None:
    """Each part of the mangled name has the one before twice: 600 MB of text. Templates are nested 1 000 times."""
    numbers = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    mangled = "_Z1f1A4pairIS_S_E" + "".join(f"S0_IS{numbers[i]}_S{numbers[i]}_E" for i in range(1, 25))
    assert short_kernel_name(mangled) == f"{mangled[:45]}…{mangled[-14:]}"
    assert (
        len(short_kernel_name("void elementwise_kernel<" + "func_wrapper_t<" * 1000 + "a" + ">" * 1001 + "(int)")) <= 60
    )


def test_without_the_library_of_cpp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_names, "demangler", lambda: None)
    mangled = next(full for _, full in NAMES if full.startswith("_Z") and len(full) > 60)
    assert short_kernel_name.__wrapped__(mangled) == f"{mangled[:45]}…{mangled[-14:]}"


def test_operators_of_fused_kernels() -> None:
    assert {name: ", ".join(fused_operators(name)) for name in FUSED} == FUSED


def test_operators_of_a_compiled_program_are_sorted() -> None:
    """Inductor sorts them: a name that was read wrongly is out of order, or has an operator twice."""
    events = json.loads(gzip.decompress((GOLD / "gpu" / "compiled.kineto.json.gz").read_bytes()))["traceEvents"]
    names = {event["name"] for event in events if event.get("cat") == "kernel"}
    found = {name: fused_operators(name) for name in names}
    assert {name for name, operators in found.items() if operators} == {name for name in names if "_fused_" in name}
    assert all(operators == sorted(set(operators)) for operators in found.values())
    assert not {"backward", "native", "tensor", "loss"} & {each for operators in found.values() for each in operators}
