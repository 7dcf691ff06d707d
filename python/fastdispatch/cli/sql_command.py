"""``fastdispatch sql``: queries on the tables of a run."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from typing import Any

from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import Input
from fastdispatch.text.formats import aligned

#: Rows of a printed table; other forms have all.
MAX_ROWS = 200

_OPTIONS = """
path [PATH]                    data set, recording, run directory, dump or merge
query [QUERY]                  SQL text, or the name of a recipe
--format {table,csv,json,sql}  format of the result (default: table); sql: print only the text of the recipe
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "sql",
        help="query the tables of a run",
        description="Run a SQL query (DuckDB) on the tables of a run: a data set of many ranks, or a recording, run "
        "directory or merge. Without a query, list the recipes (built-in queries).",
    )
    add_options(parser, _OPTIONS, path=Input, format={"default": "table"})
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.dataset import query

    known = query.recipes()
    if arguments.query is None:
        print("\n".join(aligned(known.items())))
        return
    text = query.recipe(arguments.query) if arguments.query in known else arguments.query
    if arguments.format == "sql":
        print(text.rstrip())
        return
    run = query.scan(arguments.path)
    result = run.sql(text)
    if result is not None:
        _print(result.columns, run.rows(result), arguments.format)


def _print(names: list[str], rows: list[tuple[Any, ...]], form: str) -> None:
    if form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
    elif form == "json":
        print(json.dumps([dict(zip(names, row, strict=True)) for row in rows], default=str))
    else:
        _print_table(names, rows)


def _print_table(names: list[str], rows: list[tuple[Any, ...]]) -> None:
    from rich.text import Text

    from fastdispatch.report.terminal import print_parts, table, width_of

    words = [name for i, name in enumerate(names) if any(isinstance(row[i], str) for row in rows)]
    cells = [[_cell(value) for value in row] for row in rows[:MAX_ROWS]]
    rest = [Text(f"{len(rows) - MAX_ROWS} more rows: use --format csv or json")] if len(rows) > MAX_ROWS else []
    print_parts([table(names, cells, words), *rest], sys.stdout, width_of(sys.stdout))


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)
