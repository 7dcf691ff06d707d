"""The progress bar of a command in a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec


@contextmanager
def progress_bar(title: str, *, of_bytes: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function of the done part and the whole that updates the bar; None without a terminal."""
    if not sys.stderr.isatty() or find_spec("rich") is None:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    amount = DownloadColumn() if of_bytes else TaskProgressColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title)
        yield lambda done, total: bar.update(task, completed=done, total=total)
