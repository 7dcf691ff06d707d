"""Which functions only pass a call on."""

import pytest

from fastdispatch.read.plumbing import plumbing


@pytest.mark.parametrize(
    ("source", "file", "name", "qualified", "expected"),
    [
        ("site", "torch/nn/modules/module.py", "_call_impl", "Module._call_impl", 1),
        ("site", "torch/optim/optimizer.py", "wrapper", "Optimizer.profile_hook_step.<locals>.wrapper", 1),
        ("stdlib", "contextlib.py", "__exit__", "_GeneratorContextManager.__exit__", 1),
        ("stdlib", "threading.py", "run", "Thread.run", 0),
        ("site", "torch/nn/modules/linear.py", "forward", "Linear.forward", 0),
        ("site", "torch/autograd/graph.py", "_engine_run_backward", "_engine_run_backward", 1),
        ("site", "lightning/pytorch/trainer/call.py", "_call_lightning_module_hook", "_call_lightning_module_hook", 1),
        ("site", "lightning/pytorch/core/module.py", "training_step", "LightningModule.training_step", 0),
        ("project", "lightning/pytorch/trainer/call.py", "_call", "_call", 0),
        ("project", "train.py", "wrapper", "timed.<locals>.wrapper", 1),
        ("project", "train.py", "<listcomp>", "step.<locals>.<listcomp>", 1),
        ("project", "train.py", "wrapper", "wrapper", 0),
        ("project", "train.py", "_call_impl", "Model._call_impl", 0),
    ],
)
def test_decorators_and_calls_of_modules_are(source: str, file: str, name: str, qualified: str, expected: int) -> None:
    key = f"{file}:[]:{name}"
    row = {"kind": "python", "from": source, "file": file, "name": name, "qualified": qualified, "key": key}
    assert plumbing({column: [value] for column, value in row.items()}) == [expected]


def test_operators_are_not() -> None:
    row = {"kind": "op", "from": "none", "file": "", "name": "wrapper", "qualified": "a.<locals>.wrapper", "key": "a"}
    assert plumbing({column: [value] for column, value in row.items()}) == [0]
