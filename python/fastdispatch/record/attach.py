"""Start and stop a recording in another Python process, through ``sys.remote_exec`` (PEP 768, Python 3.14).

The other process runs a small script in its main thread between two bytecodes: no ptrace, no signal, no stopped thread.
Both processes share a folder: the script removes ``waiting`` when it begins, so that a request is either run or
withdrawn, and writes its ``result`` as JSON.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.files.regular import open_regular
from fastdispatch.record import callgraph
from fastdispatch.record.callgraph import CallGraph

#: Runs in the other process, which prints exceptions of it: it must raise none.
_SCRIPT = """
def request():
    import json, os, sys
    folder, package, name, arguments = {values!r}
    try:
        os.unlink(os.path.join(folder, "waiting"))
    except OSError:
        return
    path = [*sys.path]
    sys.path.append(package)
    try:
        from fastdispatch.record import attach
        result = getattr(attach, name)(*arguments)
    except BaseException as error:
        result = {{"error": f"{{error}}" or type(error).__name__}}
    finally:
        sys.path[:] = path
    try:
        with open(os.path.join(folder, "result.part"), "w", encoding="utf-8", errors="backslashreplace") as file:
            json.dump(result, file)
        os.rename(os.path.join(folder, "result.part"), os.path.join(folder, "result"))
    except OSError:
        pass

request()
del request
"""
_POLL = 0.02
_PATIENCE = 10.0  # seconds
_LONGEST_RESULT = 1 << 20  # bytes; the process may belong to another user

#: The graph that ``attach`` started in this process.
_attached: CallGraph | None = None


def begin(out: str, steps: int | None) -> dict[str, Any]:
    """Start a recording in this process; called by the script."""
    global _attached
    if callgraph.current() is not None:
        return {"error": "already recording"}
    window = None if steps is None else (0, steps + 1)  # the rest of the current step, then whole steps
    graph = CallGraph(out, steps=window, on_trace_ready=None if steps is None else CallGraph.stop)
    graph._ambient = True
    graph.start()
    _attached = graph
    return {"path": graph.path}


def end() -> dict[str, Any]:
    """Stop the recording that :func:`begin` started; called by the script."""
    global _attached
    graph, _attached = _attached, None
    if graph is None:
        return {"error": "fastdispatch attach did not start a recording there"}
    graph.stop()
    return {"path": graph.path}


def attach(pid: int, out: str, steps: int | None) -> str:
    """Record process ``pid`` from now on. Returns the path of the recording.

    Raises :class:`fastdispatch.Error` if the process cannot be reached, or does not respond for some seconds.
    """
    return _request(pid, "begin", (os.path.abspath(out), steps))


def detach(pid: int) -> str:
    """End the recording that :func:`attach` started. Returns its path; raises :class:`fastdispatch.Error`."""
    return _request(pid, "end", ())


def _request(pid: int, name: str, arguments: tuple[object, ...]) -> str:
    _check(pid)
    folder = Path(tempfile.mkdtemp(prefix="fastdispatch-attach-"))
    try:
        package = str(Path(callgraph.__file__).parents[2])
        values = (str(folder), package, name, arguments)
        (folder / "script.py").write_text(_SCRIPT.format(values=values), encoding="utf-8")
        (folder / "waiting").touch()
        _give(folder, pid)
        _run(pid, folder / "script.py")
        result = _result(pid, folder)
    finally:
        withdrawn = _withdraw(folder)
    if result is None and not withdrawn:  # the script began at the last moment
        result = _result(pid, folder)
    if result is None and _is_alive(pid):
        # The script stays: the process prints an error if it is missing.
        raise Error(
            f"process {pid} ran no Python code in its main thread for {_PATIENCE:g} s: nothing was done; try again"
        )
    shutil.rmtree(folder, ignore_errors=True)
    if result is None:
        raise Error(f"process {pid} has ended")
    if "error" in result:
        raise Error(f"process {pid}: {result['error']}")
    return str(result["path"])


def _check(pid: int) -> None:
    if sys.version_info < (3, 14):
        version = ".".join(map(str, sys.version_info[:3]))
        raise Error(
            f"attach needs Python 3.14 or later (sys.remote_exec), and this is {version}: start the program "
            "with fastdispatch run"
        )
    if not _is_alive(pid):
        raise Error(f"no process {pid} is running")
    if pid == os.getpid():
        raise Error(f"process {pid} is this command")
    with suppress(OSError):  # without permission, sys.remote_exec reports it
        if os.readlink(f"/proc/{pid}/ns/mnt") != os.readlink("/proc/self/ns/mnt"):
            raise Error(f"process {pid} is in another container: run this command there")


def _run(pid: int, script: Path) -> None:
    try:
        sys.remote_exec(pid, str(script))  # type: ignore[attr-defined]
    except PermissionError:
        raise Error(
            f"process {pid}: no permission: run this command as the user of the process, with CAP_SYS_PTRACE"
        ) from None
    except ProcessLookupError:
        raise Error(f"process {pid} has ended") from None
    except (OSError, RuntimeError, ValueError) as error:
        reason = "it does not run Python" if "PyRuntime" in str(error) else str(error)
        if "not enabled" in reason:
            reason = "remote debugging is disabled there (PYTHON_DISABLE_REMOTE_DEBUG, -X disable-remote-debug)"
        raise Error(f"process {pid}: {reason}") from None


def _result(pid: int, folder: Path) -> dict[str, Any] | None:
    """Wait for the result; None if the process ends or the patience does before."""
    deadline = time.monotonic() + _PATIENCE
    while not os.path.lexists(folder / "result"):
        if time.monotonic() > deadline or not _is_alive(pid):
            return None
        time.sleep(_POLL)
    try:
        with open_regular(folder / "result") as file:
            result = json.loads(file.read(_LONGEST_RESULT))
        if isinstance(result, dict) and (isinstance(result.get("error"), str) or isinstance(result.get("path"), str)):
            return result
    except (OSError, ValueError, RecursionError):
        pass
    raise Error(f"process {pid}: its response cannot be read: {folder / 'result'}")


def _withdraw(folder: Path) -> bool:
    """Return whether the script had not begun; it does nothing then."""
    try:
        (folder / "waiting").unlink()
    except OSError:
        return False
    return True


def _give(folder: Path, pid: int) -> None:
    """Make the folder accessible for the user of the process, if that is another one."""
    status = os.stat(f"/proc/{pid}")
    if status.st_uid != os.geteuid():
        with suppress(PermissionError):  # sys.remote_exec reports it
            for path in (folder, *folder.iterdir()):
                os.chown(path, status.st_uid, status.st_gid)


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")
