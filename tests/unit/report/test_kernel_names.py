"""Short names of kernels: mangled and plain names of libraries, and all kernels of three traces of an H100."""

import gzip
import json

import pytest

from fastdispatch.text import kernel_names
from fastdispatch.text.kernel_names import short_kernel_name, short_kernel_names
from tests.lint.tree import ROOT

GOLD = ROOT / "tests" / "gold"
NAMES = [line.split("\t") for line in (GOLD / "kernel_names.tsv").read_text().splitlines()]


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
