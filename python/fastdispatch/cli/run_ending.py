"""The end of ``fastdispatch run``: one verdict of all ranks, by the process that ends last or by the launcher's parent.

Modules that the recorded program may use under the same name are imported only after its end.
"""

import os
from contextlib import suppress
from pathlib import Path

from fastdispatch._core import Error
from fastdispatch.cli.messages import message
from fastdispatch.files import run_directory
from fastdispatch.record.callgraph import CallGraph


def finish(graph: CallGraph, quiet: bool) -> None:
    """End the recording of this process. The last process of the run prints the verdict, or the first one that an
    exception ends: a launcher may kill the others."""
    graph.stop()
    if quiet or graph.path is None:
        return
    file, ranks = graph._file, _expected(graph)
    if file is None or ranks == 1:
        verdict(graph.path)
    elif run_directory.is_last(file, ranks, bool(graph._failure)):
        verdict(os.path.dirname(graph.path) or ".", since=0.0)


def _expected(graph: CallGraph) -> int:
    """Return how many ranks record to the directory: those of this host, unless other hosts do too."""
    file, ranks = graph._file, graph._world
    entries = [] if file is None else run_directory.entries(Path(file.folder.path))
    if {entry.get("host") for entry in entries} <= {os.uname().nodename}:
        with suppress(ValueError):
            ranks = min(ranks, int(os.environ.get("LOCAL_WORLD_SIZE", ranks)))
    return ranks if graph._ranks is None else max(min(ranks, len(graph._ranks)), 1)


def verdict(path: str, *, since: float | None = None) -> None:
    """Print the contents of a recording and its first findings. With ``since``, of a run directory, if its run began
    after that time and has something to say."""
    from fastdispatch.dataset.run_loading import load_run
    from fastdispatch.detectors import findings
    from fastdispatch.detectors.text import closing_lines
    from fastdispatch.read.summary import summary_lines
    from fastdispatch.read.trace import load

    try:
        if since is not None and not any(each["started"] >= since for each in run_directory.entries(Path(path))):
            return
        trace = load_run(path, steps="settled") if since is not None else load(path, steps="settled")
        found = list(closing_lines(trace, findings(trace)))
        if since is None:
            found = [*summary_lines(path), *found]
        elif found:
            found = [*summary_lines(path, load_run(path)), *found]
    except Error as error:
        found = [str(error)]
    for line in found:
        message(line)
