"""The tools of the server. Each reads, and returns JSON of bounded size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from fastdispatch._core import Error
from fastdispatch.agents.bounded import bounded
from fastdispatch.agents.run_folder import RunFolder

_TOP = 20

#: Rows of a query that are read.
_ROWS = 1000

#: Columns of a row of a report.
_COLUMNS = ("where", "kind", "calls", "ops", "self", "total", "backward", "gpu_total")

_GROUPS = ("function", "operator", "module", "package", "phase")
_SORTS = ("calls", "ops", "self", "total", "backward", "spread", "gpu", "flops", "bytes", "comm", "allocated")

_PATH = {"type": "string", "description": "path of a run, from list_runs"}


@dataclass(frozen=True)
class RunTool:
    """A tool: its description, the JSON schemas of its arguments, and those that are required."""

    description: str
    run: Callable[..., str]
    arguments: dict[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": self.arguments,
            "required": list(self.required),
            "additionalProperties": False,
        }


def list_runs(folder: RunFolder) -> str:
    return bounded({"runs": folder.runs()}, "runs")


def findings(folder: RunFolder, path: str) -> str:
    from fastdispatch.detectors import findings as found_in

    found = found_in(folder.path(path)).as_json()
    return bounded(found | {"path": path}, "findings")


def report(folder: RunFolder, path: str, by: str = "function", sort: str = "total", top: int = _TOP) -> str:
    from fastdispatch.dataset.run_loading import load_run

    trace = load_run(folder.path(path), steps="settled")
    made = trace.report(by=by, sort=sort, all=True)  # type: ignore[arg-type]  # checked against the schema
    rows = [] if made.listing is None else made.listing.rows
    figures = [{name: value for name, value in asdict(row).items() if name in _COLUMNS} for row in rows[:top]]
    document = {"path": path, "unit": "ns", "summary": trace.summary(), "incomplete": trace.incomplete}
    return bounded(document | {"whole": made.facts.whole, "rows": figures}, "rows", len(rows))


def query(folder: RunFolder, path: str, sql: str, base: str | None = None) -> str:
    from fastdispatch.dataset import query as queries
    from fastdispatch.dataset import read_only

    paths = [folder.path(each) for each in (path, base) if each is not None]
    run = queries.scan(paths[0], base=paths[1] if len(paths) > 1 else None)
    read_only.lock(run, *paths)
    text = queries.recipe(sql) if sql in queries.recipes() else sql
    names, rows = read_only.select(run, text, _ROWS + 1)
    document: dict[str, Any] = {"columns": names, "rows": rows[:_ROWS]}
    if len(rows) > _ROWS:
        document["more"] = f"more than {_ROWS} rows: aggregate, or add a LIMIT"
    return bounded(document, "rows")


def diff(folder: RunFolder, before: str, after: str, by: str = "node") -> str:
    from fastdispatch.compare.diff import diff as compared

    found = compared(folder.path(before), folder.path(after), by=by)  # type: ignore[arg-type]
    document = found.as_json()
    document["before"]["name"], document["after"]["name"] = before, after
    calls, collections = document.pop("calls"), document.pop("collections")
    counts = {"changed_calls": len(calls), "changed_collections": len(collections)}
    return bounded(document | counts, "rows")


TOOLS = {
    "list_runs": RunTool("List the recorded runs in the folder of the server, the latest first.", list_runs),
    "findings": RunTool(
        "Causes of slow training, by estimated gain: place in the program, evidence, remedy. Start here.",
        findings,
        {"path": _PATH},
        ("path",),
    ),
    "report": RunTool(
        "Summary of a run, and its hottest functions, operators, modules, packages or phases. Times are nanoseconds.",
        report,
        {
            "path": _PATH,
            "by": {"type": "string", "enum": list(_GROUPS)},
            "sort": {"type": "string", "enum": list(_SORTS)},
            "top": {"type": "integer", "minimum": 1, "maximum": 1000, "description": f"rows, default {_TOP}"},
        },
        ("path",),
    ),
    "query": RunTool(
        "Run one SELECT (DuckDB) on the tables of a run, or a built-in query by name: hottest-functions, "
        "hottest-paths, modules, operators, phases, slow-steps, slowest-rank, step-percentiles, collectives, and more. "
        "Tables: paths, modules, ranks, figures, steps, threads, jobs, open_calls, facts, counters.",
        query,
        {
            "path": _PATH,
            "sql": {"type": "string", "description": "a SELECT statement, or the name of a built-in query"},
            "base": {"type": "string", "description": "second run, with its tables in the schema base"},
        },
        ("path", "sql"),
    ),
    "diff": RunTool(
        "Compare two runs: verdict, and changed functions with calls and times per step, [before, after].",
        diff,
        {
            "before": _PATH,
            "after": _PATH,
            "by": {"type": "string", "enum": ["node", "module", "package"]},
        },
        ("before", "after"),
    ),
}

_TYPES: dict[str, type] = {"string": str, "integer": int}


def call(folder: RunFolder, name: str, arguments: dict[str, Any]) -> str:
    """Run a tool. Raises Error for arguments that do not follow its schema, and for invalid inputs."""
    tool = TOOLS[name]
    for missing in [each for each in tool.required if each not in arguments]:
        raise Error(f"{name}: the argument {missing} is missing")
    for argument, value in arguments.items():
        _check(name, argument, value, tool.arguments.get(argument))
    return tool.run(folder, **arguments)


def _check(name: str, argument: str, value: Any, schema: dict[str, Any] | None) -> None:
    if schema is None:
        raise Error(f"{name}: no argument {argument!r}: one of {', '.join(TOOLS[name].arguments) or 'none'}")
    if not isinstance(value, _TYPES[schema["type"]]) or isinstance(value, bool):
        raise Error(f"{name}: {argument}: give a value of type {schema['type']}")
    if "enum" in schema and value not in schema["enum"]:
        raise Error(f"{name}: {argument}={value!r}: one of {', '.join(schema['enum'])}")
    if "minimum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        raise Error(f"{name}: {argument}={value}: from {schema['minimum']} to {schema['maximum']}")
