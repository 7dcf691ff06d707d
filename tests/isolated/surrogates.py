"""Records names that UTF-8 cannot encode, into argv[1]. Every exception is an error of the recorder."""

import sys
import threading
from types import FunctionType

import fastdispatch

LONE = "lone\ud800"  # not even with surrogateescape


class Model:
    def forward(self) -> int:
        return 1


def run(code: str, file: str) -> None:
    exec(compile(code, file, "exec"), {})


def renamed() -> int:
    return 2


def named(function: FunctionType) -> FunctionType:
    """The function under an unencodable name."""
    code = function.__code__.replace(co_name=LONE, co_qualname=f"Model.{LONE}")
    return FunctionType(code, globals())


sys.argv.append(LONE)
fastdispatch.pipeline.rule("surrogates.py", "renamed", "forward")
fastdispatch.pipeline.rule(f"{LONE}.py", LONE, LONE, mb="arg:lone")
with fastdispatch.CallGraph(sys.argv[1], timeline=True, keep=lambda key: True) as graph:
    with fastdispatch.label(LONE), fastdispatch.label(f"{LONE}2"):
        Model().forward()
    with fastdispatch.job(LONE, mb=1):
        renamed()
    named(renamed)()
    run("def inside(): pass\ninside()", f"/tmp/{LONE}.py")
    run("def inside(): pass\ninside()", "/tmp/latin\udce4.py")
    thread = threading.Thread(target=named(renamed), name=LONE)
    thread.start()
    thread.join()
    graph.step()

if "torch" in sys.argv[2:]:
    import torch

    class Block(torch.nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(width, width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x)

    class Net(torch.nn.Module):
        """Two of three names are recorded alike."""

        def __init__(self) -> None:
            super().__init__()
            self.add_module("lone?", torch.nn.ReLU())
            setattr(self, LONE, Block(2))
            self.rest = torch.nn.Module()
            setattr(self.rest, f"{LONE}2", torch.nn.ModuleList([Block(2)]))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = getattr(self, LONE)(getattr(self, "lone?")(x))
            return getattr(self.rest, f"{LONE}2")[0](x)

    net = Net()
    with fastdispatch.CallGraph(f"{sys.argv[1]}-torch", et=True) as graph:
        net(torch.ones(1, 2)).sum().backward()
        graph.step()
    assert [name for name, _ in net.named_children()] == ["lone?", LONE, "rest"]
