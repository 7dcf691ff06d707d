"""Measured figures of many ranks: the range over ranks, and the rank with larger inputs or more bytes by name."""

import time
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.dataset.run_loading import load_run
from fastdispatch.dataset.write_dataset import write_dataset
from tests import many_ranks

torch = pytest.importorskip("torch")
dist = pytest.importorskip("torch.distributed")
pytest.importorskip("duckdb")
if not dist.is_available():
    pytest.skip("PyTorch without torch.distributed", allow_module_level=True)

pytestmark = pytest.mark.torch

RANKS, STEPS, WIDTH = 20, 6, 64
ODD = 7  # planted: a rank with three times the batch, and ten times the bytes
BATCH, SENT = 8, 40_000


def train(folder: Path, batch: int, sent: int) -> Path:
    model = torch.nn.Linear(WIDTH, WIDTH)
    updates = torch.optim.SGD(model.parameters(), lr=0.1)
    with fastdispatch.CallGraph(folder, measure="flops,comm"):
        for _ in range(STEPS):
            time.sleep(0.04)
            updates.zero_grad()
            model(torch.ones(batch, WIDTH)).sum().backward()
            dist.all_reduce(torch.ones(sent // 4))
            updates.step()
    return folder / "rank00000.fd"


@pytest.fixture(scope="module")
def sources(group: None, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A usual rank and the odd one, with equal call paths."""
    return [train(tmp_path_factory.mktemp("source"), times * BATCH, share * SENT) for times, share in ((1, 1), (3, 10))]


@pytest.fixture(scope="module")
def ranks(sources: list[Path], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same with the odd rank."""
    paths = many_ranks.write(sources[0], tmp_path_factory.mktemp("unequal"), RANKS)
    paths[ODD].write_bytes(many_ranks.scaled(sources[1].read_bytes(), ODD, RANKS, 1.0))
    return paths


def test_the_range_over_ranks_is_exact_in_any_grouping(ranks: list[Path], tmp_path: Path) -> None:
    made = many_ranks.any_grouping(([ranks], [ranks[12:], ranks[:5], ranks[5:12]]), tmp_path)
    [again] = fastdispatch.load(made).ranks
    assert again["measures"] == load_run(tmp_path / "0.parquet").ranks[0]["measures"]
    columns = ("kind", "ranks", "range_min", "range_max", "range_min_rank", "range_max_rank", "sum")
    found = {row[1:] for row in zip(*(again["measures"][name] for name in columns), strict=True) if row[0] == "comm"}
    assert found == {(RANKS, STEPS * SENT, STEPS * 10 * SENT, 0, ODD, STEPS * SENT * (RANKS - 1 + 10))}


@pytest.mark.parametrize("form", ["recordings", "data set"])
def test_the_odd_rank_is_found(ranks: list[Path], form: str, tmp_path: Path) -> None:
    run = ranks[0].parent
    if form == "data set":
        run = tmp_path / "run.parquet"
        write_dataset([str(ranks[0].parent)], run)
    found = {finding.id: finding for finding in fastdispatch.findings(run)}
    assert found["skewed-comm"].ranks == found["unequal-work"].ranks == [ODD]
    assert found["skewed-comm"].evidence == {"bytes_per_step": {"0": SENT, str(ODD): 10 * SENT}}
    flops = 2 * BATCH * WIDTH * WIDTH
    assert found["unequal-work"].evidence == {"flops_per_step": {"0": flops, str(ODD): 3 * flops}}
    assert found["unequal-work"].where.file.endswith("test_measured_ranks.py")


def test_equal_ranks_have_no_such_finding(sources: list[Path], tmp_path: Path) -> None:
    many_ranks.write(sources[0], tmp_path, RANKS)
    assert load_run(tmp_path).reduced is not None
    made = fastdispatch.findings(tmp_path)
    assert not {"skewed-comm", "unequal-work"} & {finding.id for finding in made}
    assert not {"skewed-comm", "unequal-work"} & {each.id for each in made.not_decided}


def test_different_settled_steps_are_not_compared(sources: list[Path], tmp_path: Path) -> None:
    """One rank has fewer settled steps than the others, or two thirds more."""
    early, late = (tmp_path / f"slow{slow}.fd" for slow in (1, 3))
    for slow, path in ((1, early), (3, late)):
        path.write_bytes(many_ranks.paced(sources[0].read_bytes(), [8] * slow + [1] * (STEPS - slow)))
    for usual, odd, name in ((early, late, "fewer"), (late, early, "more")):
        paths = many_ranks.write(usual, tmp_path / name, RANKS)
        paths[ODD].write_bytes(many_ranks.scaled(odd.read_bytes(), ODD, RANKS, 1.0))
        windows = [fastdispatch.load(path, steps="settled").ranks[0]["window"]["steps"] for path in paths]
        assert {(steps, rank == ODD) for rank, steps in enumerate(windows)} == (
            {(5, False), (3, True)} if name == "fewer" else {(3, False), (5, True)}
        )
        assert [each.id for each in fastdispatch.findings(tmp_path / name) if each.ranks == [ODD]] == []
