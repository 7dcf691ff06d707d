"""The results in a terminal."""

from rich.console import Console
from rich.table import Table

from benchmarks.figures import Figure, Result

_VERDICTS = {True: "[green]met[/]", False: "[red]missed[/]", None: ""}


def number(value: float) -> str:
    """Three digits, as many as a timing is good for."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def _row(figure: Figure) -> tuple[str, ...]:
    spread = f"{number(figure.low)} - {number(figure.high)}" if figure.rounds > 1 else ""
    bar = "" if figure.bar is None else f"<= {number(figure.bar)}"
    return figure.name, number(figure.value), figure.unit, spread, bar, _VERDICTS[figure.met], figure.note


def show(name: str, result: Result, console: Console) -> None:
    """Print the table of one subject, then the omitted figures."""
    table = Table(title=name, title_justify="left", header_style="bold", box=None, pad_edge=False)
    table.add_column("figure")
    for title in ("median", "unit", "spread", "bar"):
        table.add_column(title, justify="left" if title == "unit" else "right", no_wrap=True)
    table.add_column("")
    table.add_column("note", style="dim")
    for figure in result.figures:
        table.add_row(*_row(figure))
    console.print(table)
    for line in result.skipped:
        console.print(f"omitted: {line}", style="yellow", highlight=False)
    console.print()
