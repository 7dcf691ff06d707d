"""``fastdispatch mcp`` and ``fastdispatch skill`` (docs/guides/agents.md)."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.agents import bounded, mcp_server, run_tools
from fastdispatch.cli import main
from tests import processes

torch = pytest.importorskip("torch")

PROGRAM = """
import torch

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def train_step(x):
    optimizer.zero_grad()
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
    return loss.item()

for _ in range(12):
    train_step(torch.ones(8, 4))
"""


class Client:
    """A client of JSON-RPC: one line per message."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fastdispatch", "mcp", str(folder)],
            env=processes.environment(),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.count = 0

    def send(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.endswith("\n")
        return json.loads(line)

    def request(self, method: str, **parameters: Any) -> Any:
        self.count += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method, "params": parameters}))
        answer = self.receive()
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", self.count)
        return answer.get("result", answer.get("error"))

    def call(self, name: str, **arguments: Any) -> Any:
        """The document of a tool, or the text of its error."""
        result = self.request("tools/call", name=name, arguments=arguments)
        (content,) = result["content"]
        assert content["type"] == "text" and len(content["text"]) <= bounded.MOST
        return content["text"] if result["isError"] else json.loads(content["text"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of a program, the second in a folder below."""
    folder = tmp_path_factory.mktemp("agents")
    (folder / "train.py").write_text(PROGRAM)
    for out in ("before", "below/after"):
        done = processes.fastdispatch("run", "-o", out, "train.py", folder=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    client = Client(folder)
    before = sorted(folder.rglob("*"))
    yield client
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(60) == 0
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(("asked", "answer"), [("2025-03-26", "2025-03-26"), ("1999-01-01", mcp_server.VERSIONS[-1])])
def test_initialize(asked: str, answer: str, client: Client) -> None:
    result = client.request("initialize", protocolVersion=asked, capabilities={}, clientInfo={})
    assert result["protocolVersion"] == answer
    assert result["capabilities"] == {"tools": {}}
    assert result["serverInfo"] == {"name": "fastdispatch", "version": fastdispatch.__version__}
    client.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert client.request("ping") == {}


def test_requests_with_their_version(client: Client) -> None:
    """The version of 2026-07-28 has no handshake; other versions are refused with its name."""
    name = "io.modelcontextprotocol/"
    meta = {f"{name}protocolVersion": "2026-07-28", f"{name}clientCapabilities": {}}
    found = client.request("server/discover", _meta=meta)
    assert (found["supportedVersions"], found["resultType"]) == (["2026-07-28"], "complete")
    assert found["_meta"][f"{name}serverInfo"]["name"] == "fastdispatch"
    listed = client.request("tools/list", _meta=meta)
    assert listed["tools"] == client.request("tools/list")["tools"]
    assert (listed["resultType"], listed["cacheScope"]) == ("complete", "public") and listed["ttlMs"] > 0
    called = client.request("tools/call", name="list_runs", arguments={}, _meta=meta)
    assert called["resultType"] == "complete" and not called["isError"]
    wrong = client.request("tools/list", _meta=meta | {f"{name}protocolVersion": "2099-01-01"})
    assert (wrong["code"], wrong["data"]) == (-32022, {"supported": ["2026-07-28"], "requested": "2099-01-01"})
    assert client.request("tools/list", _meta=meta | {f"{name}clientCapabilities": None})["code"] == -32602
    assert client.request("initialize", _meta=meta)["code"] == -32601


def test_tools(client: Client) -> None:
    tools = client.request("tools/list")["tools"]
    assert [tool["name"] for tool in tools] == ["list_runs", "findings", "report", "query", "diff"]
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools)
    for tool in tools:
        assert set(tool["inputSchema"]["required"]) <= set(tool["inputSchema"]["properties"])


def test_runs(client: Client) -> None:
    runs = client.call("list_runs")["runs"]
    assert {(run["path"], run["kind"], run["recordings"]) for run in runs} == {
        ("before", "run directory", 1),
        ("below/after", "run directory", 1),
    }
    assert [run["modified"] for run in runs] == sorted((run["modified"] for run in runs), reverse=True)


def test_findings(client: Client, folder: Path) -> None:
    found = client.call("findings", path="before")
    assert found == fastdispatch.findings(folder / "before").as_json() | {"path": "before"}


def test_report(client: Client, folder: Path) -> None:
    found = client.call("report", path="before", by="operator", sort="calls", top=3)
    trace = fastdispatch.load(folder / "before", steps="settled")
    assert found["summary"] == trace.summary()
    listing = trace.report(by="operator", sort="calls", all=True).listing
    assert listing is not None
    assert [(row["where"], row["calls"]) for row in found["rows"]] == [
        (row.where, row.calls) for row in listing.rows[:3]
    ]
    assert found["note"].startswith(f"the first 3 of {len(listing.rows)} rows")
    phases = client.call("report", path="before", by="phase")
    assert {row["where"] for row in phases["rows"]} >= {"forward", "backward", "optimizer"}


def test_query(client: Client) -> None:
    pytest.importorskip("duckdb")
    steps = client.call("query", path="before", sql="SELECT count(*) AS steps, sum(0.0)/0 AS none FROM steps")
    assert steps == {"columns": ["steps", "none"], "rows": [[12, None]]}
    assert client.call("query", path="before", sql="hottest-functions")["rows"]
    both = client.call("query", path="before", base="below/after", sql="SELECT count(*) FROM base.ranks, ranks")
    assert both["rows"] == [[1]]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("COPY (SELECT 1) TO 'x.csv'", "single SELECT"),
        ("EXPLAIN ANALYZE COPY (SELECT 1) TO 'x.csv'", "single SELECT"),
        ("ATTACH 'x.db'", "single SELECT"),
        ("SET enable_external_access = true", "single SELECT"),
        ("SELECT 1; SELECT 2", "single SELECT"),
        ("", "single SELECT"),
        ("FROM read_text('train.py')", "disabled by configuration"),
        ("FROM glob('*')", "disabled by configuration"),
        ("SELECT nothing", "sql: "),
    ],
)
def test_queries_only_read(sql: str, message: str, client: Client) -> None:
    pytest.importorskip("duckdb")
    answer = client.call("query", path="before", sql=sql)
    assert isinstance(answer, str) and message in answer and "\n" not in answer


def test_a_data_set_is_read_and_never_written(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    assert main(["merge", str(folder / "before"), "-o", str(tmp_path / "all.parquet") + "/"]) == 0
    before = sorted(tmp_path.rglob("*"))
    client = Client(tmp_path)
    assert [run["kind"] for run in client.call("list_runs")["runs"]] == ["data set"]
    assert client.call("query", path="all.parquet", sql="SELECT count(*) FROM steps")["rows"] == [[12]]
    assert "single SELECT" in client.call("query", path="all.parquet", sql="COPY (SELECT 1) TO 'all.parquet/x'")
    outside = f"FROM read_text('{folder / 'train.py'}')"
    assert "disabled by configuration" in client.call("query", path="all.parquet", sql=outside)
    client.process.communicate(timeout=60)
    assert sorted(tmp_path.rglob("*")) == before


def test_diff(client: Client) -> None:
    found = client.call("diff", before="before", after="below/after")
    assert (found["before"]["name"], found["after"]["name"]) == ("before", "below/after")
    assert "verdict" in found and not [row for row in found["rows"] if "calls" in row["changes"]]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("findings", {}, "the argument path is missing"),
        ("findings", {"path": 1}, "give a value of type string"),
        ("findings", {"path": "before", "more": 1}, "no argument 'more'"),
        ("findings", {"path": "../.."}, "outside the folder"),
        ("findings", {"path": "/etc/passwd"}, "outside the folder"),
        ("findings", {"path": "a\0"}, "null character"),
        ("findings", {"path": "missing"}, "no such file"),
        ("findings", {"path": "train.py"}, "train.py"),
        ("report", {"path": "before", "by": "colour"}, "by='colour': one of function"),
        ("report", {"path": "before", "top": 0}, "from 1 to 1000"),
        ("report", {"path": "before", "top": True}, "of type integer"),
    ],
)
def test_errors_of_tools(name: str, arguments: dict[str, Any], message: str, client: Client) -> None:
    answer = client.call(name, **arguments)
    assert isinstance(answer, str) and message in answer and "\n" not in answer


def test_a_link_out_of_the_folder(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "link").symlink_to(folder / "before")
    client = Client(tmp_path)
    assert "outside" in client.call("findings", path="link")
    client.process.communicate(timeout=60)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("nonsense", -32700),
        ("[" * 100_000, -32700),
        ("[]", -32600),
        ('{"id":1,"method":"ping"}', -32600),
        ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        ('{"jsonrpc":"2.0","id":1,"method":3}', -32600),
        ('{"jsonrpc":"2.0","id":1,"method":"server/discover"}', -32601),
        ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}', -32602),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"diff","arguments":[1]}}', -32602),
        ('"' + "x" * (1 << 20) + '"', -32600),
    ],
    ids=range(11),
)
def test_invalid_messages(line: str, code: int, client: Client) -> None:
    """Each has one answer, and the server continues."""
    client.send(line)
    assert client.receive()["error"]["code"] == code
    assert client.request("ping") == {}


def test_notifications_and_responses_have_no_reply(client: Client) -> None:
    for line in ('{"jsonrpc":"2.0","method":"nothing"}', '{"jsonrpc":"2.0","id":9,"result":{}}', ""):
        client.send(line)
    assert client.request("ping") == {}


def test_bounded() -> None:
    rows = [{"name": "ü" * 20, "number": number} for number in range(100)]
    whole = bounded.bounded({"rows": rows, "a": float("nan")}, "rows")
    assert json.loads(whole) == {"rows": rows, "a": None}
    cut = bounded.bounded({"rows": rows}, "rows", most=1000)
    found = json.loads(cut)
    assert len(cut.encode()) <= 1000 and found["note"].startswith(f"the first {len(found['rows'])} of 100 rows")
    longer = bounded.bounded({"rows": rows[: len(found["rows"]) + 1], "note": found["note"]}, "rows")
    assert len(longer) > 1000
    assert "larger than 100 bytes" in bounded.bounded({"rows": [], "a": "x" * 1000}, "rows", most=100)


def test_every_recipe_in_a_description_exists() -> None:
    pytest.importorskip("duckdb")
    from fastdispatch.dataset import query

    named = set(re.findall(r"\w+-\w+", run_tools.TOOLS["query"].description)) - {"built-in"}
    assert named and named <= set(query.recipes())


def test_a_path_other_than_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", str(tmp_path / "missing")]) == 2
    assert "not a folder" in capsys.readouterr().err


def test_llms_txt() -> None:
    text = (processes.ROOT / "docs" / "llms.txt").read_text()
    assert text.startswith("# fastdispatch\n\n> ")
    links = re.findall(r"^- \[.+?\]\((.+?)\)", text, re.M)
    assert len(links) == text.count("\n- ")
    assert [link for link in links if not (processes.ROOT / "docs" / link).is_file()] == []


def test_skill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command of the guide runs, in its order, and its fields exist."""
    pytest.importorskip("duckdb")
    assert main(["skill"]) == 0
    guide = capsys.readouterr().out
    assert re.match(r"---\nname: fastdispatch\ndescription: .+\n---\n", guide)
    (tmp_path / "train.py").write_text(PROGRAM)
    lines = [line for block in re.findall(r"```sh\n(.*?)```", guide, re.S) for line in block.splitlines()]
    printed = {}
    for line in lines:
        done = processes.fastdispatch(*shlex.split(line)[1:], folder=tmp_path)
        assert done.returncode == 0, (line, done.stderr)
        printed[line] = json.loads(done.stdout) if "json" in line else None
    assert len(printed) == 11
    findings = printed["fastdispatch findings before --json"]
    assert {"findings", "not_decided", "step_ns"} <= set(findings)
    assert printed["fastdispatch diff before after --json"]["verdict"]
    report = printed["fastdispatch report before --by module --json --top 20"]
    assert report["window"]["steps"] and report["ranks"]
