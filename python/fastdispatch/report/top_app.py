"""``fastdispatch top`` in a terminal."""

from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Footer, Input, Static

from fastdispatch._core import Error
from fastdispatch.read.live import Rate, Sample, rates, sample
from fastdispatch.report.top_text import TITLES, LiveFindings, cells, head

SORTS = ("self", "total", "calls", "where")
MOST_ROWS = 200


class Top(App[None]):
    """A table that is updated every ``interval`` seconds."""

    CSS = """
    #head { height: 1; text-style: bold; }
    #findings { height: auto; }
    #search { display: none; }
    DataTable { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("s", "sort", "sort"),
        Binding("slash", "search", "search"),
        Binding("f", "freeze", "freeze"),
        Binding("t", "since", "since start"),
        Binding("escape", "clear", "clear", show=False),
    ]

    def __init__(self, path: str, interval: float, total: bool) -> None:
        super().__init__()
        self.path, self.interval, self.total = path, interval, total
        self.sorting = SORTS[0]
        self.wanted = ""
        self.frozen = False
        self.before: Sample | None = None
        self.found: list[Rate] = []
        self.line = ""
        self.findings = LiveFindings()

    def compose(self) -> ComposeResult:
        yield Static("reading ...", id="head", markup=False)
        yield Static("", id="findings", markup=False)
        yield Input(placeholder="part of a name", id="search", disabled=True)
        yield DataTable(cursor_type="row", zebra_stripes=True)
        yield Footer()

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.add_columns(*TITLES)
        table.focus()
        self.refresh_figures()
        self.set_interval(self.interval, self.refresh_figures)

    def refresh_figures(self) -> None:
        if self.frozen:
            return
        try:
            after = sample(self.path)
        except Error as error:
            self.line = str(error)
            self.draw()
            return
        self.found = rates(None if self.total else self.before, after)
        self.line = head(self.before, after)
        self.before = after
        self.query_one("#findings", Static).update("\n".join(self.findings.refresh(self.path)))
        self.draw()

    def draw(self) -> None:
        """Fill the sorted table; the cursor keeps its line."""
        key = {
            "self": lambda rate: -rate.own,
            "total": lambda rate: -rate.total,
            "calls": lambda rate: -rate.calls,
            "where": lambda rate: rate.key,
        }[self.sorting]
        rows = sorted((rate for rate in self.found if self.wanted.casefold() in rate.key.casefold()), key=key)
        table = self.query_one(DataTable)
        at = table.cursor_row
        table.clear()
        for rate in rows[:MOST_ROWS]:
            *figures, where = cells(rate)
            table.add_row(*(Text(figure, justify="right") for figure in figures), Text(where))
        table.move_cursor(row=min(at, max(table.row_count - 1, 0)))
        marks = [f"by {self.sorting}", *(["frozen"] if self.frozen else []), *([self.wanted] if self.wanted else [])]
        self.query_one("#head", Static).update(f"{self.line}   [{', '.join(marks)}]")

    def action_sort(self) -> None:
        self.sorting = SORTS[(SORTS.index(self.sorting) + 1) % len(SORTS)]
        self.draw()

    def action_freeze(self) -> None:
        self.frozen = not self.frozen
        self.draw()

    def action_since(self) -> None:
        self.total = not self.total
        self.refresh_figures()

    def action_search(self) -> None:
        search = self.query_one("#search", Input)
        search.display, search.disabled = True, False
        search.focus()

    def action_clear(self) -> None:
        search = self.query_one("#search", Input)
        search.value = ""
        search.display, search.disabled = False, True
        self.query_one(DataTable).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self.wanted = event.value
        self.draw()

    def on_input_submitted(self) -> None:
        self.query_one(DataTable).focus()
