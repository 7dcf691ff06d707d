"""The recorder's callbacks do not affect the program: interrupts reach it, its collector is unchanged."""

import ctypes
import errno
import gc
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch import CallGraph
from tests import processes
from tests.traces import SOURCES


def spin() -> None:
    for _ in range(100):
        pass


def interrupt(*_: object) -> int:
    signal.raise_signal(signal.SIGINT)
    spin()  # the handler runs here
    return 2


def leave(*_: object) -> int:
    raise SystemExit(7)


def fail(*_: object) -> int:
    raise ValueError("from the schedule")


@pytest.mark.parametrize(("ends", "kind"), [(interrupt, KeyboardInterrupt), (leave, SystemExit)])
def test_an_end_inside_a_schedule_reaches_the_program(ends: Callable[[], int], kind: type[BaseException]) -> None:
    graph = CallGraph(None, ops="off", schedule=lambda step: ends() if step == 1 else 2)
    with pytest.raises(kind) as raised, graph:
        graph.step()
        spin()
        pytest.fail("the program went on")
    assert kind is KeyboardInterrupt or raised.value.code == 7


def test_an_interrupt_inside_a_filter_reaches_the_program() -> None:
    asked: list[str] = []

    def keep(key: str) -> bool:
        asked.append(key)
        return bool(interrupt()) if key.endswith(":spin") else True

    with pytest.raises(KeyboardInterrupt), CallGraph(None, ops="off", keep=keep):
        spin()
        spin()
        pytest.fail("the program went on")
    assert sum(key.endswith(":spin") for key in asked) == 1


def test_an_exit_on_another_thread_ends_that_thread() -> None:
    graph = CallGraph(None, ops="off", schedule=lambda step: leave() if step == 1 else 2)
    reached: list[object] = []

    def work() -> None:
        try:
            graph.step()
            spin()
            reached.append("end")
        except SystemExit as stop:
            reached.append(type(stop))

    with graph:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert reached == [SystemExit]


def test_a_failing_schedule_does_not_disturb_the_program() -> None:
    graph = CallGraph(None, ops="off", schedule=lambda step: fail() if step == 1 else 2)
    with pytest.warns(RuntimeWarning, match="from the schedule"), graph:
        graph.step()
        spin()


def new_code() -> Callable[[], None]:
    """A function without a record."""
    space: dict[str, Callable[[], None]] = {}
    exec("def fresh():\n    pass", space)
    return space["fresh"]


@pytest.mark.parametrize("source", SOURCES)
def test_the_collector_stays_as_the_program_wants_it(source: str) -> None:
    seen: list[bool] = []

    def keep(_: str) -> bool:
        seen.append(gc.isenabled())
        gc.disable()
        return True

    try:
        with CallGraph(None, ops="off", calls=source, keep=keep):
            new_code()()
        assert seen
        assert not gc.isenabled()
    finally:
        gc.enable()
    # Enabled in the first call, disabled for later ones.
    assert seen == [True] + [False] * (len(seen) - 1)


def test_a_collection_inside_a_filter_collects() -> None:
    found: list[int] = []

    class Node:
        pass

    def keep(_: str) -> bool:
        a, b = Node(), Node()
        a.other, b.other = b, a  # type: ignore[attr-defined]
        del a, b
        found.append(gc.collect())
        return True

    gc.collect()
    with CallGraph(None, ops="off", keep=keep):
        new_code()()
    assert found
    assert all(found)


def test_finalisers_do_not_run_in_the_middle_of_a_call() -> None:
    """Allocations of the recorder do not start a collection of garbage."""
    order: list[str] = []

    class Node:
        def __del__(self) -> None:
            order.append("finaliser")

    gc.collect()
    node = Node()
    node.cycle = node  # type: ignore[attr-defined]
    del node
    functions = [new_code() for _ in range(50)]
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        with CallGraph(None, ops="off"):
            for function in functions:
                function()
            order.append("end")
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert "finaliser" in order


def test_errno_is_left_alone() -> None:
    library = ctypes.CDLL(None, use_errno=False)
    library.__errno_location.restype = ctypes.POINTER(ctypes.c_int)
    place = library.__errno_location()
    functions = [new_code() for _ in range(200)]
    with CallGraph(None, ops="off"):
        for function in functions:
            place[0] = errno.EXDEV
            function()
            assert place[0] == errno.EXDEV


def test_the_switch_interval_is_left_alone() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.001)
    try:
        with CallGraph(None, ops="off", keep=lambda key: True):
            new_code()()
        assert sys.getswitchinterval() == pytest.approx(0.001)
    finally:
        sys.setswitchinterval(before)


def test_a_filter_that_ends_the_recording() -> None:
    graph = CallGraph(None, ops="off", keep=lambda key: graph.stop() is None)
    with graph:
        for _ in range(3):
            new_code()()
    with CallGraph(None, ops="off") as after:
        new_code()()
    assert after.stats()["contexts"] > 0


def test_a_schedule_that_ends_the_recording() -> None:
    def schedule(step: int) -> int:
        if step == 2:
            graph.stop()
        return 2

    graph = CallGraph(None, ops="off", schedule=schedule)
    with graph:
        for _ in range(4):
            graph.step()
            spin()
    assert fastdispatch.record.callgraph.current() is None


@pytest.mark.skipif(sys.platform != "linux", reason="the stand-in is compiled for Linux")
@pytest.mark.parametrize("source", SOURCES)
def test_a_python_call_as_the_first_event_of_a_lasting_c_thread(tmp_path: Path, source: str) -> None:
    """A thread created by C code keeps its thread state between callbacks, while a window begins."""
    text = tmp_path / "thread.c"
    text.write_text(
        "#include <Python.h>\n#include <pthread.h>\n"
        "static PyObject *function; static int rounds;\n"
        "static void *run(void *unused) {\n"
        "    PyGILState_STATE outer = PyGILState_Ensure();\n"
        "    for (int i = 0; i < rounds; i++) {\n"
        "        Py_XDECREF(PyObject_CallNoArgs(function));\n"
        "        Py_BEGIN_ALLOW_THREADS sched_yield(); Py_END_ALLOW_THREADS\n"
        "    }\n"
        "    PyGILState_Release(outer);\n    return unused;\n}\n"
        "static pthread_t thread;\n"
        "void begin(PyObject *callee, int count) {\n"
        "    function = callee; rounds = count; pthread_create(&thread, NULL, run, NULL);\n}\n"
        "void finish(void) { Py_BEGIN_ALLOW_THREADS pthread_join(thread, NULL); Py_END_ALLOW_THREADS }\n"
    )
    library = tmp_path / "thread.so"
    include = sysconfig.get_paths()["include"]
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{include}", "-o", library, text, "-lpthread"], check=True)
    done = processes.run("c_thread.py", library, source)
    assert done.stdout.split() == ["2000"]
