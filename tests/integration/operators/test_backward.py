"""Backward time finds the forward call that created it."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import fastdispatch
from tests import processes, traces
from tests.training import make_step


def gpt() -> None:
    _, step = make_step()
    for _ in range(3):
        step()


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


class Same(torch.autograd.Function):
    """Its forward runs no operator."""

    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        return x

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        return gradient.clone()


def custom_functions_in_turns() -> None:
    x = torch.randn(64, 64, requires_grad=True)
    for _ in range(5):
        Same.apply(Square.apply(Same.apply(x.exp()).sin())).sum().backward()


def inplace_on_views() -> None:
    for _ in range(5):
        x = torch.randn(64, 64, requires_grad=True)
        y = x.clone()
        y[:32].mul_(2)
        y.t()[3:9].add_(y[0, 0])
        y.view(-1)[10:100].exp_()
        y.sum().backward()


def checkpointed(use_reentrant: bool) -> None:
    block = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64))
    for _ in range(3):
        x = torch.randn(16, 64, requires_grad=True)
        y = checkpoint(block, x, use_reentrant=use_reentrant)
        checkpoint(block, y, use_reentrant=use_reentrant).sum().backward()


def double_backward() -> None:
    for _ in range(3):
        x = torch.randn(64, 64, requires_grad=True)
        (gradient,) = torch.autograd.grad((x.tanh() * x).sum(), x, create_graph=True)
        gradient.pow(2).sum().backward()


def threads() -> None:
    def work() -> None:
        x = torch.randn(64, 64, requires_grad=True)
        (x @ x).relu().sum().backward()

    started = [threading.Thread(target=work) for _ in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def forward_here_backward_there() -> None:
    x = torch.randn(64, 64, requires_grad=True)
    loss = (x @ x).sin().sum()
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join()


def hooks() -> None:
    x = torch.randn(64, 64, requires_grad=True)
    y = x.sin()
    y.register_hook(lambda gradient: gradient * 2)
    y.cos().sum().backward()


def functorch() -> None:
    x = torch.randn(64, 64, requires_grad=True)
    torch.func.grad(lambda t: t.sin().sum())(x)
    torch.vmap(lambda t: t.exp())(x).sum().backward()


PROGRAMS: dict[str, Callable[[], None]] = {
    "gpt": gpt,
    "custom functions": custom_functions_in_turns,
    "in place on views": inplace_on_views,
    "checkpoint, reentrant": lambda: checkpointed(True),
    "checkpoint, not reentrant": lambda: checkpointed(False),
    "double backward": double_backward,
    "threads": threads,
    "forward and backward on two threads": forward_here_backward_there,
    "hooks": hooks,
    "functorch": functorch,
}


def check_coverage(trace: fastdispatch.Trace) -> None:
    coverage = trace.coverage()
    assert coverage["autograd"] > 0
    assert coverage["attributed"] >= 0.99 * (coverage["autograd"] - coverage["accumulate"])
    assert trace.ranks[0]["counters"]["origin_none"] == 0


#: A dispatch mode belongs to the thread that pushed it: operators of threads that the program starts are not seen.
NOT_DISPATCHED = {"threads", "forward and backward on two threads"}
CASES = [("record", name) for name in PROGRAMS]
CASES += [("dispatch", name) for name in PROGRAMS if name not in NOT_DISPATCHED]


@pytest.mark.parametrize(("ops", "name"), CASES)
def test_nearly_all_backward_time_has_an_origin(ops: str, name: str) -> None:
    check_coverage(traces.recorded(PROGRAMS[name], ops=ops))


def origins(trace: fastdispatch.Trace) -> set[tuple[str, str]]:
    """(autograd node, key of its origin)"""
    contexts, nodes = trace.contexts, trace.nodes
    return {
        (nodes["name"][node], nodes["key"][contexts["node"][origin]])
        for node, origin in zip(contexts["node"], contexts["origin"], strict=True)
        if nodes["kind"][node] == "autograd" and origin >= 0
    }


def test_the_origin_of_a_custom_function_is_its_own_call() -> None:
    found = origins(traces.recorded(custom_functions_in_turns))
    assert found == {
        ("SquareBackward", "Square"),
        ("SameBackward", "Same"),
        ("ExpBackward0", "aten::exp"),
        ("SinBackward0", "aten::sin"),
        ("SumBackward0", "aten::sum"),
    }


def test_origins_are_the_operators_of_the_same_name() -> None:
    for node, key in origins(traces.recorded(gpt)):
        operator = key.rpartition("::")[2].replace("_", "")
        name = node.lower().removesuffix("0").removesuffix("backward")
        fits = operator.startswith(name) or name.startswith(operator)
        assert fits, (node, key)
    assert traces.recorded(gpt).ranks[0]["counters"]["origin_misfit"] == 0


def test_an_origin_whose_name_does_not_fit_is_counted() -> None:
    """The node of ``aten::exp`` gets the name of another function."""

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx, gradient: Tensor) -> Tensor:
            return gradient

    def renamed() -> None:
        Sine._backward_cls.__name__ = "RenamedBackward"
        Sine.apply(torch.randn(4, requires_grad=True)).sum().backward()

    assert traces.recorded(renamed).ranks[0]["counters"]["origin_misfit"] == 1


def test_backward_time_of_a_module_is_the_time_of_its_operators() -> None:
    trace = traces.recorded(gpt)
    backward = traces.column(trace, "module", "backward")
    parts = backward["blocks.*.attn"] + backward["blocks.*.mlp"] + backward["blocks.*.ln1"] + backward["blocks.*.ln2"]
    assert 0 < parts <= backward["blocks.*"] <= backward["GPT"]
    assert backward["GPT"] == trace.coverage()["attributed"]


def test_checkpointing_counts_nested_backward_time_once() -> None:
    """The engine runs inside the engine: the caller of both forwards gets the time once."""
    trace = traces.recorded(PROGRAMS["checkpoint, reentrant"])
    table = trace.table("function")
    total = dict(zip(table["where"], table["total"], strict=True))
    backward = dict(zip(table["where"], table["backward"], strict=True))
    name = "tests/integration/operators/test_backward.py:[]:checkpointed"
    assert backward[name] <= total[name]
    assert backward[name] == trace.coverage()["attributed"]


def distributed_worker(rank: int, folder: str) -> None:
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)))
    with fastdispatch.CallGraph(folder):
        for _ in range(3):
            model(torch.randn(8, 32)).sum().backward()
    dist.barrier()
    dist.destroy_process_group()


def test_distributed_data_parallel(tmp_path: Path) -> None:
    processes.spawn_ranks(distributed_worker, str(tmp_path))
    trace = fastdispatch.load(tmp_path)
    assert [rank["rank"] for rank in trace.ranks] == [0, 1]
    check_coverage(trace)
    assert "c10d::allreduce_" in trace.nodes["name"]
    collective = next(i for i, name in enumerate(trace.nodes["name"]) if name == "gloo:all_reduce")
    assert trace.nodes["kind"][collective] == "range"
