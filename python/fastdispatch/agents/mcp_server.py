"""A server of the Model Context Protocol over standard input and output: JSON-RPC 2.0, one message per line."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from fastdispatch._core import Error
from fastdispatch.agents import run_tools
from fastdispatch.agents.run_folder import RunFolder
from fastdispatch.text.formats import printable
from fastdispatch.version import __version__

#: Versions of the protocol that begin with a handshake, the latest last.
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

#: Versions without one: each request has its version in ``_meta``.
STATELESS = ("2026-07-28",)

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
UNKNOWN_VERSION = -32022

_META = "io.modelcontextprotocol/"

_CAPABILITIES: dict[str, Any] = {"tools": {}}
_SERVER = {"name": "fastdispatch", "version": __version__}

#: How long a client may keep a list: it never changes while the server runs.
_CACHED = {"cacheScope": "public", "ttlMs": 3_600_000}

#: Bytes of a message.
_LONGEST = 1 << 20

_INSTRUCTIONS = (
    "Recordings of PyTorch trainings. Call list_runs, then findings of a run, then report or query for details, and "
    "diff to compare two runs. Times are nanoseconds per step or per run as stated; nothing is ever written."
)


class _Refused(Exception):
    """A request with an error of JSON-RPC."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


def serve(folder: RunFolder, source: BinaryIO, target: BinaryIO) -> None:
    """Reply to requests until the end of ``source``."""
    while line := source.readline(_LONGEST + 1):
        whole = len(line) <= _LONGEST
        while not whole and line and not line.endswith(b"\n"):
            line = source.readline(_LONGEST)
        answer = _answer(folder, line) if whole else _error(None, INVALID_REQUEST, "the message is too long")
        if answer is not None:
            target.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
            target.flush()


def _answer(folder: RunFolder, line: bytes) -> dict[str, Any] | None:
    """Return the response to a message; None for notifications, responses and empty lines."""
    if not line.strip():
        return None
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, "the message is not JSON")
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return _error(None, INVALID_REQUEST, "the message is not a request of JSON-RPC 2.0")
    method, id_ = message.get("method"), message.get("id")
    if "id" not in message or (method is None and ("result" in message or "error" in message)):
        return None
    if not isinstance(method, str) or not isinstance(id_, (str, int)) or isinstance(id_, bool):
        return _error(None, INVALID_REQUEST, "a request needs a method, and an id that is a text or an integer")
    parameters = message.get("params", {})
    try:
        if not isinstance(parameters, dict):
            raise _Refused(INVALID_PARAMS, "params must be an object")
        stateless = _is_stateless(parameters)
        result = _stateless_result(folder, method, parameters) if stateless else _result(folder, method, parameters)
        return {"jsonrpc": "2.0", "id": id_, "result": result}
    except _Refused as refused:
        return _error(id_, refused.code, str(refused), refused.data)


def _error(id_: str | int | None, code: int, message: str, data: dict[str, Any] | None = None) -> dict[str, Any]:
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return {"jsonrpc": "2.0", "id": id_, "error": error}


def _is_stateless(parameters: dict[str, Any]) -> bool:
    """Return whether a request has its version. An unknown one is refused with the known ones."""
    meta = parameters.get("_meta")
    if not isinstance(meta, dict) or f"{_META}protocolVersion" not in meta:
        return False
    asked = meta[f"{_META}protocolVersion"]
    if not isinstance(asked, str) or not isinstance(meta.get(f"{_META}clientCapabilities"), dict):
        raise _Refused(INVALID_PARAMS, "_meta needs protocolVersion, a text, and clientCapabilities, an object")
    if asked not in STATELESS:
        known = {"supported": list(STATELESS), "requested": asked}
        raise _Refused(UNKNOWN_VERSION, f"no version {asked!r} of the protocol", known)
    return True


def _stateless_result(folder: RunFolder, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    always = {"resultType": "complete", "_meta": {f"{_META}serverInfo": _SERVER}}
    if method == "server/discover":
        offered = {"supportedVersions": list(STATELESS), "capabilities": _CAPABILITIES, "instructions": _INSTRUCTIONS}
        return offered | _CACHED | always
    if method not in ("tools/list", "tools/call"):
        raise _Refused(NO_METHOD, f"no method {method!r}")
    return _result(folder, method, parameters) | (_CACHED if method == "tools/list" else {}) | always


def _result(folder: RunFolder, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        asked = parameters.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
            "capabilities": _CAPABILITIES,
            "serverInfo": _SERVER,
            "instructions": _INSTRUCTIONS,
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [_described(name, tool) for name, tool in run_tools.TOOLS.items()]}
    if method == "tools/call":
        return _called(folder, parameters)
    raise _Refused(NO_METHOD, f"no method {method!r}")


def _described(name: str, tool: run_tools.RunTool) -> dict[str, Any]:
    return {
        "name": name,
        "description": tool.description,
        "inputSchema": tool.schema(),
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }


def _called(folder: RunFolder, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a tool; its error is a result, which the model reads."""
    name, arguments = parameters.get("name"), parameters.get("arguments") or {}
    if not isinstance(name, str) or name not in run_tools.TOOLS:
        raise _Refused(INVALID_PARAMS, f"no tool {name!r}: one of {', '.join(run_tools.TOOLS)}")
    if not isinstance(arguments, dict):
        raise _Refused(INVALID_PARAMS, "arguments must be an object")
    try:
        text, failed = run_tools.call(folder, name, arguments), False
    except Error as error:
        text, failed = printable(str(error)), True
    except MemoryError:
        text, failed = "out of memory", True
    except Exception as error:  # one tool must not end the server
        text, failed = printable(f"{name} failed: {type(error).__name__}: {error}"), True
    return {"content": [{"type": "text", "text": text}], "isError": failed}
