"""A recorded program has equal results and exceptions; compiled code stays compiled, no object is kept alive."""

import gc
import sys
import weakref
from collections.abc import Callable

import pytest
import torch

import fastdispatch
from tests.training import make_step

BACK_ENDS = ("record", "dispatch")


def train(steps: int) -> list[object]:
    """Losses and gradients of each step, and the weights after the last one."""
    model, step = make_step(dropout=0.1)
    image = torch.nn.Conv2d(2, 3, 3)  # an operator that the model does not have
    found: list[object] = []
    for _ in range(steps):
        found.append(step())
        image(torch.rand(2, 2, 6, 6)).square().mean().backward()
        found += [parameter.grad.clone() for each in (model, image) for parameter in each.parameters()]
    return found + [value.clone() for value in model.state_dict().values()]


@pytest.mark.parametrize(
    "options",
    [
        *({"ops": ops, "timeline": timeline} for ops in BACK_ENDS for timeline in (False, True)),
        *({"measure": what} for what in ("flops", "memory", "shapes")),
        {"et": True},
    ],
    ids=str,
)
def test_results_are_bit_identical(options: dict[str, object]) -> None:
    plain = train(20)
    with fastdispatch.CallGraph(None, **options):
        recorded = train(20)
    assert len(plain) > 200
    for one, other in zip(recorded, plain, strict=True):
        assert torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other


class CountingBackend:
    """A compiler for ``torch.compile`` that compiles nothing and counts."""

    def __init__(self) -> None:
        self.compiled = 0
        self.calls = 0

    def __call__(self, module: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., object]:
        self.compiled += 1

        def run(*arguments: torch.Tensor) -> object:
            self.calls += 1
            return module.forward(*arguments)

        return run


@pytest.mark.parametrize("ops", BACK_ENDS)
@pytest.mark.parametrize("cold", (True, False), ids=("cold", "warm"))
def test_compiled_modules_run_compiled_before_during_and_after(ops: str, cold: bool) -> None:
    torch._dynamo.reset()
    backend = CountingBackend()
    module = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), backend=backend)
    x = torch.ones(2, 4)
    calls = 0
    if not cold:
        module(x)
        calls = 1
        assert (backend.compiled, backend.calls) == (1, calls)
    with fastdispatch.CallGraph(None, ops=ops):
        for _ in range(3):
            module(x)
    calls += 3
    assert (backend.compiled, backend.calls) == (1, calls)
    for _ in range(2):
        module(x)
    assert (backend.compiled, backend.calls) == (1, calls + 2)
    torch._dynamo.reset()


@pytest.mark.parametrize("ops", BACK_ENDS)
def test_recording_can_start_inside_a_compiled_program(ops: str) -> None:
    """Dynamo's evaluator is in front; afterwards Python code runs and is recorded as before."""
    torch._dynamo.reset()
    backend = CountingBackend()
    graphs = []

    @torch._dynamo.disable
    def start() -> None:
        graphs.append(fastdispatch.CallGraph(None, ops=ops))
        graphs[-1].start()

    @torch.compile(backend=backend)
    def program(x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        start()
        return x * 2

    program(torch.ones(3))
    plain_function()
    graphs[-1].stop()
    for _ in range(3):
        program(torch.ones(3))
        graphs[-1].stop()
    assert backend.calls == 8  # two compiled parts around the graph break, four times
    torch._dynamo.reset()


def plain_function() -> int:
    return 1


def test_a_model_dropped_while_recorded_is_freed() -> None:
    with fastdispatch.CallGraph(None) as graph:
        model, step = make_step()
        step()
        references = [weakref.ref(module) for module in model.modules()]
        kinds = [weakref.ref(make_local_class_over(model))]
        del model, step
        gc.collect()
        alive = [reference for reference in [*references, *kinds] if reference() is not None]
    assert graph.stats()["modules"] > 10
    assert not alive


def make_local_class_over(model: torch.nn.Module) -> type:
    class Wrapper(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + len(list(model.parameters()))

    Wrapper()(torch.ones(1))
    return Wrapper


def test_exceptions_are_those_of_the_plain_program() -> None:
    def fail() -> None:
        torch.ones(2) @ torch.ones(3)

    def outcome() -> tuple[type[BaseException], str, int]:
        try:
            fail()
        except RuntimeError as error:
            depth = 0
            trace = error.__traceback__
            while trace is not None:
                depth, trace = depth + 1, trace.tb_next
            return type(error), str(error), depth
        raise AssertionError("no exception")

    plain = outcome()
    for ops in BACK_ENDS:
        with fastdispatch.CallGraph(None, ops=ops):
            assert outcome() == plain


def test_recursion_errors_occur_at_the_same_depth() -> None:
    def depth_of_error() -> int:
        def dive(depth: int) -> int:
            try:
                return dive(depth + 1)
            except RecursionError:
                return depth

        return dive(0)

    plain = depth_of_error()
    with fastdispatch.CallGraph(None, ops="off"):
        recorded = depth_of_error()
    assert recorded == plain


def test_recursion_deeper_than_the_c_stack_allows_a_hook() -> None:
    """Greenlets copy the C stack, so calls cannot continue in another segment while greenlet is imported."""
    pytest.importorskip("greenlet")

    def dive(depth: int) -> int:
        return 0 if depth == 0 else 1 + dive(depth - 1)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        with fastdispatch.CallGraph(None, calls="frame", ops="off") as graph:
            assert dive(50_000) == 50_000
            plain_function()
        trace = fastdispatch.Trace(graph._session.trace())
    finally:
        sys.setrecursionlimit(limit)
    assert trace.ranks[0]["counters"]["deep_stack"] >= 1
    names = {name for name, calls in zip(trace.nodes["name"], trace.nodes["line"], strict=True) if calls}
    assert "plain_function" in names  # recorded again after the stack was unwound


def test_inference_is_recorded() -> None:
    model, _ = make_step()
    tokens = torch.zeros(1, 4, dtype=torch.long)
    for mode in (torch.no_grad, torch.inference_mode):
        with fastdispatch.CallGraph(None) as graph, mode():
            model(tokens, tokens)
        trace = fastdispatch.Trace(graph._session.trace())
        operators = trace.table("operator")
        assert operators["calls"][operators["where"].index("aten::addmm")] >= 8
        assert trace.coverage()["autograd"] == 0
