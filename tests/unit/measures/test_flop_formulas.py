"""FLOPs of custom operators by formulas that the program registers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.measures.flops import Flops, flops_of
from fastdispatch.record import custom_flops
from tests import commands

torch = pytest.importorskip("torch")
flop_counter = pytest.importorskip("torch.utils.flop_counter")


@pytest.fixture
def product() -> Iterator[Any]:
    """An operator that multiplies two matrices inside; all formulas end with the test."""
    before = dict(flop_counter.flop_registry)
    with torch.library._scoped_library("fd_formulas", "FRAGMENT") as library:
        library.define("product(Tensor a, Tensor b, *, float by, int times=1) -> Tensor")
        library.impl("product", lambda a, b, by, times=1: a @ b * by, "CPU")
        yield torch.ops.fd_formulas.product
    flop_counter.flop_registry.clear()
    flop_counter.flop_registry.update(before)
    custom_flops._own.clear()


def run(product: Any, folder: Path, rows: tuple[int, ...] = (2, 2, 5), **options: Any) -> Flops:
    with fastdispatch.CallGraph(folder, measure="flops", **options):
        for size in rows:
            product(torch.ones(size, 3), torch.ones(3, 4), by=0.5, times=7)
    return flops_of(fastdispatch.load(folder))


def forward(found: Flops) -> int:
    return sum(work.forward for work in found.sites.values())


def test_without_a_formula_operators_inside_count(product: Any, tmp_path: Path) -> None:
    found = run(product, tmp_path)
    assert (found.unknown["fd_formulas::product"].calls, forward(found)) == (3, 2 * (2 + 2 + 5) * 3 * 4)


def test_formula_of_pytorch(product: Any, tmp_path: Path) -> None:
    @flop_counter.register_flop_formula(product)
    def formula(a: Any, b: Any, *, times: int, out_shape: Any = None, **_: Any) -> int:
        return int(1000 * a[0] * b[-1] * times)

    found = run(product, tmp_path)
    assert found.unknown == {}
    assert forward(found) == 1000 * (2 + 2 + 5) * 4 * 7
    assert sum(work.calls for work in found.sites.values()) == 3
    assert sum(work.elementwise for work in found.sites.values()) == 0  # the multiplication inside


def test_formula_of_tensors(product: Any, tmp_path: Path) -> None:
    @flop_counter.register_flop_formula(product, get_raw=True)
    def formula(a: Any, b: Any, **_: Any) -> int:
        assert a.dtype is torch.float32
        return int(a.numel() + b.numel())

    assert forward(run(product, tmp_path)) == (2 + 2 + 5) * 3 + 3 * 12


def test_own_formula(product: Any, tmp_path: Path) -> None:
    @fastdispatch.flop_formula("fd_formulas::product")
    def formula(a: tuple[int, ...], b: tuple[int, ...], by: None, times: int) -> int:
        return a[0] * a[1] * b[1] * times

    assert forward(run(product, tmp_path)) == (2 + 2 + 5) * 12 * 7
    assert formula((1, 1), (1, 1), None, 1) == 1


def test_with_all_shapes(product: Any, tmp_path: Path) -> None:
    fastdispatch.flop_formula("fd_formulas::product")(lambda a, *rest: a[0])
    with fastdispatch.CallGraph(tmp_path, measure="flops,shapes"):
        product(torch.ones(2, 3), torch.ones(3, 4), by=0.5)
    assert forward(flops_of(fastdispatch.load(tmp_path))) == 2


def test_in_memory(product: Any) -> None:
    fastdispatch.flop_formula("fd_formulas::product")(lambda a, *rest: a[0])
    with fastdispatch.CallGraph(None, measure="flops") as graph:
        product(torch.ones(2, 3), torch.ones(3, 4), by=0.5)
    assert forward(flops_of(graph.trace)) == 2


@pytest.mark.parametrize("result", [None, -1, 2**63, "x"])
def test_wrong_results(result: Any, product: Any, tmp_path: Path) -> None:
    fastdispatch.flop_formula("fd_formulas::product")(lambda *operands: result)
    found = run(product, tmp_path)
    assert found.unknown["fd_formulas::product"].failed.startswith(("TypeError: ", "ValueError: "))
    assert forward(found) == 2 * 9 * 12


def test_exception_of_a_formula_is_named(product: Any, tmp_path: Path) -> None:
    @flop_counter.register_flop_formula(product)
    def formula(a: Any, b: Any, *, out_shape: Any = None, **_: Any) -> int:
        return int(out_shape[0])

    found = run(product, tmp_path)
    assert found.unknown["fd_formulas::product"].failed == "TypeError: 'NoneType' object is not subscriptable"
    assert "fd_formulas::product   formula: TypeError: 'NoneType' object" in commands.out("report", tmp_path, "--flops")


def test_more_shapes_than_a_path_lists_remain_unknown(
    product: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fastdispatch.flop_formula("fd_formulas::product")(lambda a, *rest: 1)
    sizes = tuple(range(1, 1032))
    found = run(product, tmp_path, sizes)
    assert found.unknown["fd_formulas::product"].calls == len(sizes)
    assert forward(found) == 2 * sum(sizes[:1024]) * 12
    assert (found.unknown["aten::mm"].calls, found.unknown["aten::mm"].beyond) == (7, 7)
    assert main(["report", str(tmp_path), "--flops"]) == 0
    assert "aten::mm               7 calls: more shapes than a call path lists" in capsys.readouterr().out


def test_no_report_for_shapes_of_custom_operators_alone(product: Any, tmp_path: Path) -> None:
    run(product, tmp_path)
    assert main(["report", str(tmp_path), "--shapes"]) == 2


def test_modes_of_the_program_do_not_see_formulas(product: Any, tmp_path: Path) -> None:
    flop_counter.register_flop_formula(product)(lambda a, b, **_: 1)
    seen = []

    class Mode(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[name-defined, misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    graph = fastdispatch.CallGraph(tmp_path, measure="flops")
    graph.start()
    product(torch.ones(2, 3), torch.ones(3, 4), by=0.5)
    with Mode():
        graph.stop()
    assert torch.ops.aten.empty.memory_format not in seen
    assert forward(flops_of(fastdispatch.load(tmp_path))) == 1
