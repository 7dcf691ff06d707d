"""``fastdispatch.pipeline.partition`` on weights: worked examples, the best possible, bad input, the command line."""

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import fastdispatch
from fastdispatch import Error
from fastdispatch.pipeline import megatron_layout, partition, split_points
from tests import commands, golden, schemas

ALEXNET = [23296, 0, 0, 307392, 0, 0, 663936, 0, 884992, 0, 590080, 0, 0, 0, 0, 0, 37752832, 0, 0, 16781312, 0, 40970]


def numbers(text: str) -> list[float]:
    """``3*1 2.5`` as [1, 1, 1, 2.5]."""
    found: list[float] = []
    for part in text.split():
        count, _, number = part.rpartition("*")
        found += int(count or 1) * [float(number) if "." in number else int(number)]
    return found


#: Weights, stages and cuts: executed with DeepSpeed.
EXAMPLES = [line.split("  ") for line in golden.text("partitions").splitlines()]

UNIFORM = [
    (22, 2, [0, 11, 22]),
    (22, 3, [0, 8, 15, 22]),
    (22, 4, [0, 6, 12, 17, 22]),
    (10, 4, [0, 3, 6, 8, 10]),
    (3, 4, [0, 1, 2, 3, 3]),
    (0, 2, [0, 0, 0]),
]


def stage_weights(weights: Sequence[float], parts: Sequence[int]) -> list[float]:
    return [sum(weights[first:last]) for first, last in pairwise(parts)]


@pytest.mark.parametrize(("weights", "stages", "parts"), EXAMPLES)
def test_worked_examples(weights: str, stages: str, parts: str) -> None:
    assert partition(numbers(weights), int(stages)) == numbers(parts)


@pytest.mark.parametrize(("layers", "stages", "parts"), UNIFORM)
def test_uniform_examples(layers: int, stages: int, parts: list[int]) -> None:
    assert partition(layers * [7], stages, "Uniform") == parts


def test_parts_are_plain_ints() -> None:
    numpy = pytest.importorskip("numpy")
    for weights in (ALEXNET, numpy.array(ALEXNET), numpy.array([0, 1.1, 30, 3]), [numpy.int64(4), True, 2.5]):
        for method in ("uniform", "parameters", "bottleneck", "profile"):
            parts = partition(weights, 2, method)
            assert {type(part) for part in parts} == {int}
            assert json.loads(json.dumps(parts)) == parts


def test_bottleneck_is_optimal() -> None:
    """Against every cut there is: the smallest heaviest stage; never worse than what parameters give."""
    random.seed(5)
    better = 0
    for _ in range(3000):
        layers, stages = random.randint(4, 9), random.randint(3, 4)
        weights = [random.randint(1, 20) for _ in range(layers)]
        least = max(stage_weights(weights, partition(weights, stages, "bottleneck")))
        parameters = max(stage_weights(weights, partition(weights, stages)))
        inner = combinations(range(1, layers), stages - 1)
        best = min(max(stage_weights(weights, [0, *cuts, layers])) for cuts in inner)
        assert least == best <= parameters
        better += best < parameters
    assert better > 50
    assert partition([14, 11, 20, 7], 3, "bottleneck") == [0, 2, 3, 4]
    # Of equally heavy stages the most even ones; greedy stages up to 9 would leave one with 1.
    assert partition([9, 4, 4, 1, 4], 3, "bottleneck") == [0, 1, 3, 5]
    assert partition(6 * [0], 3, "bottleneck") == [0, 4, 5, 6]
    assert partition([1, 1, 1, 1, 100, 1, 1, 1], 4, "bottleneck") == [0, 2, 4, 5, 8]


def test_exact_beyond_the_precision_of_doubles() -> None:
    """Whole numbers are added exactly before they become doubles, as numpy does it for DeepSpeed."""
    weights = [2**60, 1, 1, 1, 2**60 - 3]
    assert partition(weights, 2) == [0, 4, 5]
    with pytest.raises(Error, match="layer 1: its weight is negative, not a number, or too large"):
        partition([1, 10**400], 2)


def test_weights_for_layers_that_have_others() -> None:
    assert partition(4 * [1], 3, "bottleneck", weights=[14, 11, 20, 7]) == [0, 2, 3, 4]
    assert partition(4 * [1], 3, "profile", weights=[14, 11, 20, 7]) == [0, 1, 2, 4]


class Topology:
    def get_dim(self, axis: str) -> int:
        return {"pipe": 4, "data": 2}[axis]


def test_stages_of_a_topology() -> None:
    assert partition(8 * [1], topology=Topology()) == [0, 2, 4, 6, 8]


BAD: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    (([1, 2], 0), {}, "0 stages: at least one"),
    (([1, 2], 2**40), {}, "1099511627776 stages: 1 to 1048576"),
    (([1, -2, 3], 2), {}, "layer 1: its weight is negative, not a number, or too large"),
    (([1, float("nan"), 3], 2), {}, "layer 1: its weight is negative, not a number, or too large"),
    (([1, float("inf"), 3], 2, "bottleneck"), {}, "layer 1: its weight is negative, not a number, or too large"),
    ((40000 * [1], 2), {}, "40000 layers: at most 32768 can be weighed"),
    (([1, "2"], 2), {}, "layer 1 is '2': neither a weight nor a layer"),
    (([1, print], 2), {}, "layers: numbers and layers are mixed: give weights, or layers"),
    ((7, 2), {}, "layers: int is not a sequence of layers: give nn.Sequential or a list of layers"),
    (([1, 2, 3], 2, "profile"), {"weights": [1, 2]}, "2 weights for 3 layers"),
    (([1, 2, 3], 2, "profile"), {"weights": [1, 2, None]}, "layer 2: its weight is None: not a number"),
    (([1, 2, 3], 2, "uniform"), {"weights": [1, 2, 3]}, "method uniform: weights are for profile and bottleneck"),
    (
        ([print, print], 2, "type:("),
        {},
        "method type:(: invalid regular expression: missing ), unterminated subpattern",
    ),
    (([print, print], 2, "profile"), {}, "method profile: no measured times: give a recording of these layers"),
]


@pytest.mark.parametrize(("given", "options", "message"), BAD)
def test_bad_input_is_one_line(given: tuple[Any, ...], options: dict[str, Any], message: str) -> None:
    with pytest.raises(Error) as raised:
        partition(*given, **options)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_names_that_a_type_finds() -> None:
    """Functions have their names; the expression is cut at the second colon and lower-cased."""
    layers = [print, len, print, len]
    assert partition(layers, 2, "TYPE:Print:len") == partition([1, 0, 1, 0], 2)
    with pytest.raises(RuntimeError, match=r"Partitioning '\\d' found no valid layers to partition\."):
        partition(layers, 2, r"type:\D")
    with pytest.raises(RuntimeError, match=r"Partitioning 'print' found no valid layers to partition\."):
        partition([1, 2, 3], 2, "type:print")  # numbers have no names


def test_split_points() -> None:
    assert split_points([0, 2, 5, 6]) == ["2", "5"]
    assert split_points([0, 1, 3], ["layers.0", "layers.1", "layers.2"]) == ["layers.1"]
    with pytest.raises(Error, match="stage 2 has no layers: torch needs one in each"):
        split_points([0, 1, 2, 2])


def test_megatron_layouts() -> None:
    assert megatron_layout([0, 5, 9, 11]) == "Et*5|t*4|ttL"
    assert megatron_layout([0, 4, 6, 8, 9], "E" + 6 * "t" + "mL") == "Ettt|tt|tm|L"
    with pytest.raises(Error, match="kinds 'Et': one letter of E, t, m, L for each of 3 layers"):
        megatron_layout([0, 1, 3], "Et")


command = partial(commands.run, "pipeline", "partition")


def test_command_on_weights(tmp_path: Path) -> None:
    listed, lines = tmp_path / "w.json", tmp_path / "w.txt"
    listed.write_text("[14, 11, 20, 7]")
    lines.write_text("# a model\n14\n11  # second\n\n20\n7\n")
    for path in (listed, lines):
        status, output, errors = command(path, "-n", 3, "--method", "bottleneck")
        assert (status, errors) == (0, "")
        assert output == (
            "Partitioning pipeline stages with method bottleneck\n"
            "stage=0 layers=2\n     0: 14\n     1: 11\n"
            "stage=1 layers=1\n     2: 20\n"
            "stage=2 layers=1\n     3: 7\n"
            "\nparts [0, 2, 3, 4]\n"
            " stage  layers  weight  of mean\n"
            "     0       2      25     1.44\n"
            "     1       1      20     1.15\n"
            "     2       1       7     0.40\n"
        )
    status, output, _ = command(listed, "-n", 2, "--report", "--method", "uniform")
    assert output.splitlines()[1::3] == ["stage=0 layers=2", "stage=1 layers=2"]
    assert output.endswith("     3: 7\n")


def test_command_as_json(tmp_path: Path) -> None:
    schema = schemas.schema("partition")
    path = tmp_path / "weights"
    path.write_text(json.dumps(ALEXNET))
    for stages in (2, 30):
        status, output, _ = command(path, "-n", stages, "--json")
        assert status == 0
        made = json.loads(output)
        jsonschema.validate(made, schema)
        assert made["parts"] == partition(ALEXNET, stages)
    assert made["split_points"] is None  # there are empty stages
    jsonschema.validate(json.loads(command(path, "-n", 2, "--json", "--method", "uniform")[1]), schema)


def test_command_on_bad_input(tmp_path: Path) -> None:
    def error_of(content: str | None, *options: object) -> str:
        path = tmp_path / "input"
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_text(content)
        status, output, errors = command(path, *options)
        assert (status, output) == (2, "")
        assert errors.count("\n") == 1
        return errors.removeprefix("fastdispatch: ").strip().replace(f"{path}", "PATH")

    assert error_of("[1, 2]") == "must provide num_stages or topology"
    assert error_of("[1, 2]", "-n", 3, "--world-size", 4) == "num_stages (3) must divide distributed world size (4)"
    assert error_of("[1, 2]", "-n", 2, "--method", "Guess") == "Partitioning method guess not implemented."
    assert error_of("1\ntwo\n", "-n", 2) == "PATH:2: 'two' is not a number"
    assert error_of('[1, "2"]', "-n", 2) == "PATH: weight 1 is '2': not a number"
    assert error_of("[1, 2", "-n", 2).startswith("PATH: invalid JSON: ")
    assert error_of(100000 * "[", "-n", 2).startswith("PATH: invalid JSON: ")
    assert error_of("", "-n", 2) == "PATH: no weights"
    assert error_of("1\n-1\n", "-n", 2) == "layer 1: its weight is negative, not a number, or too large"
    assert error_of("hello", "-n", 2).startswith("PATH")  # what load says
    assert error_of(None, "-n", 2) == "PATH: no such file; give a model as MODULE:ATTRIBUTE"
    for name, text in (
        ("json:nothing", "json:nothing: AttributeError: "),
        ("nomodule:x", "nomodule:x: ModuleNotFound"),
    ):
        status, _, errors = command(name, "-n", 2)
        assert status == 2 and errors.startswith(f"fastdispatch: {text}")


def test_the_package_exports_it() -> None:
    assert fastdispatch.pipeline.partition is partition
    with pytest.raises(AttributeError, match="module 'fastdispatch' has no attribute 'pipelines'"):
        _ = fastdispatch.pipelines
    lazy = "import sys, fastdispatch; sys.exit('fastdispatch.pipeline' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", lazy], check=False).returncode == 0
