"""The server of the Model Context Protocol, driven by the protocol's Python client."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

import fastdispatch
from tests import processes, training

mcp = pytest.importorskip("mcp")


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
def test_client(mode: str, tmp_path: Path) -> None:
    _, step = training.make_step()
    with fastdispatch.CallGraph(tmp_path / "out"):
        for _ in range(6):
            step()
    parameters = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-m", "fastdispatch", "mcp", str(tmp_path)],
        env=processes.environment(),
    )

    async def drive() -> None:
        async with mcp.Client(mcp.stdio_client(parameters), mode=mode) as client:
            assert client.protocol_version == ("2025-11-25" if mode == "legacy" else mode)
            assert mode != "legacy" or client.server_info.name == "fastdispatch"
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == {"list_runs", "findings", "report", "query", "diff"}
            runs = await client.call_tool("list_runs", {})
            assert [run["path"] for run in json.loads(runs.content[0].text)["runs"]] == ["out"]
            found = await client.call_tool("findings", {"path": "out"})
            assert not found.is_error
            assert json.loads(found.content[0].text)["step_ns"] == fastdispatch.findings(tmp_path / "out").step_ns
            wrong = await client.call_tool("report", {"path": "elsewhere"})
            assert wrong.is_error and "no such file" in wrong.content[0].text

    asyncio.run(asyncio.wait_for(drive(), 120))
