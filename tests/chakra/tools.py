"""The public tools, run in their environment."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

TOOLS = Path(os.environ.get("CHAKRA", "")).absolute()
HERE = Path(__file__).parent

Node = dict[str, Any]


def tool(name: str, *arguments: object, folder: Path) -> str:
    command = [str(TOOLS / name), *map(str, arguments)]
    done = subprocess.run(command, text=True, capture_output=True, cwd=folder, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def converted(source: Path, target: Path) -> Path:
    """By chakra_converter."""
    log = target.with_suffix(".log")
    options = ("--log-filename", log, "PyTorch", "--input", source, "--output", target)
    printed = tool("chakra_converter", *options, folder=target.parent)
    assert "Conversion successful" in printed
    return target


def linked(et: Path, kineto: Path, output: Path) -> list[Node]:
    """By chakra_trace_link."""
    tool(
        "chakra_trace_link", "--rank", 0, "--chakra-host-trace", et, "--chakra-device-trace", kineto,
        "--output-file", output, folder=output.parent,
    )  # fmt: skip
    nodes: list[Node] = json.loads(output.read_text())["nodes"]
    return nodes


def decode(path: Path) -> dict[int, Node]:
    """A .et by id, by the code that protoc generates."""
    done = subprocess.run(
        [str(TOOLS / "python"), str(HERE / "decode.py"), str(path)], text=True, capture_output=True, check=True
    )
    return {node["id"]: node for node in json.loads(done.stdout)}
