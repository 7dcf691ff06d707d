"""The summary and the page arrive in the stores of real trackers, offline."""

import json
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.integrations import trackers
from tests import training

STEPS = 6


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> fastdispatch.CallGraph:
    """A recorded training."""
    _, step = training.make_step()
    with fastdispatch.CallGraph(tmp_path_factory.mktemp("run") / "out") as graph:
        for _ in range(STEPS):
            step()
    return graph


def test_wandb(graph: fastdispatch.CallGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read back from the transaction log of an offline run."""
    wandb = pytest.importorskip("wandb")
    internal = pytest.importorskip("wandb.proto.wandb_internal_pb2")
    for name in ("WANDB_DATA_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_ARTIFACT_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    run = wandb.init(mode="offline", dir=tmp_path, project="p")
    logged = trackers.log_to_wandb(graph)
    assert {name: run.summary[name] for name in logged} == logged == graph.summary()
    folder = Path(run.dir).parent
    run.finish()
    (store,) = folder.glob("*.wandb")
    messages = wait_for_exit(store, internal.Record)
    stored: dict[str, object] = {}
    for message in messages:
        stored |= {item.key or item.nested_key[0]: json.loads(item.value_json) for item in message.summary.update}
    assert {name: stored[name] for name in logged} == logged
    (staged,) = [path for path in tmp_path.rglob("*") if path.is_file() and is_page(path)]
    assert staged.read_bytes() == graph.html()


def wait_for_exit(store: Path, kind: Any) -> list[Any]:
    """The messages of the store. ``finish()`` may return before the other process of wandb has written them."""
    end = time.monotonic() + 60
    while True:
        messages = [kind.FromString(record) for record in log_records(store.read_bytes())]
        if messages and messages[-1].HasField("exit"):
            return messages
        assert time.monotonic() < end, f"no exit record among {len(messages)}"
        time.sleep(0.05)


def log_records(content: bytes) -> Iterator[bytes]:
    """The records of a LevelDB log with a header of 7 bytes: blocks of 32 KiB, parts with check sum, length and kind
    (1: whole, 2 to 4: first, middle, last)."""
    at, record = 7, b""
    while at + 7 <= len(content):
        if -at % 32768 in range(1, 7):  # the rest of a block
            at += -at % 32768
            continue
        length, kind = struct.unpack_from("<HB", content, at + 4)
        record += content[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            yield record
            record = b""


def is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(15).lower() == b"<!doctype html>"


def test_wandb_without_a_run(graph: fastdispatch.CallGraph) -> None:
    pytest.importorskip("wandb")
    with pytest.raises(fastdispatch.Error, match=r"call wandb\.init"):
        trackers.log_to_wandb(graph)


def test_mlflow(graph: fastdispatch.CallGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read back by the client from a file store."""
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    with mlflow.start_run() as run:
        logged = trackers.log_to_mlflow(graph.path)
    stored = mlflow.MlflowClient().get_run(run.info.run_id)
    assert stored.data.metrics == {name: value for name, value in logged.items() if not isinstance(value, str)}
    assert {name: stored.data.tags[name] for name in logged if isinstance(logged[name], str)} == {
        name: value for name, value in logged.items() if isinstance(value, str)
    }
    (page,) = tmp_path.rglob("fastdispatch.html")
    assert page.read_bytes() == graph.html()


def test_tensorboard(graph: fastdispatch.CallGraph, tmp_path: Path) -> None:
    """Read back by TensorBoard's own reader."""
    event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        logged = trackers.log_to_tensorboard(graph, writer, STEPS)
    read = event_accumulator.EventAccumulator(str(tmp_path))
    read.Reload()
    numbers = {name: value for name, value in logged.items() if not isinstance(value, str)}
    assert set(read.Tags()["scalars"]) == set(numbers)
    for name, value in numbers.items():
        (scalar,) = read.Scalars(name)
        assert (scalar.step, scalar.value) == (STEPS, pytest.approx(value, rel=1e-6))
    texts = [name for name in read.Tags()["tensors"] if "first_finding" in name]
    (stored,) = read.Tensors(texts[0])
    assert stored.tensor_proto.string_val[0].decode() == logged["fastdispatch/first_finding"]
    assert (tmp_path / "fastdispatch.html").read_bytes() == graph.html()


def test_trackio(graph: fastdispatch.CallGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read back from trackio's database."""
    pytest.importorskip("trackio")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    program = (
        "import sys, json, trackio; from fastdispatch.integrations.trackers import log_to_trackio\n"
        "trackio.init('p', name='r', embed=False); print('LOGGED', json.dumps(log_to_trackio(sys.argv[1])))\n"
        "trackio.finish()\n"
        "print('STORED', json.dumps(trackio.SQLiteStorage.get_logs('p', 'r'), default=str))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(graph.path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line[:6] in ("LOGGED", "STORED"))
    logged, (stored,) = json.loads(lines["LOGGED"]), json.loads(lines["STORED"])
    assert {name: stored[name] for name in logged} == logged
    assert len([path for path in tmp_path.rglob("*") if path.is_file() and is_page(path)]) == 1


def test_a_missing_package(graph: fastdispatch.CallGraph) -> None:
    with pytest.raises(fastdispatch.Error, match="the package no_such_tracker is not installed: pip install"):
        trackers.package("no_such_tracker.part")
