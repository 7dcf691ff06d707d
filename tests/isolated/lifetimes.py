"""Lifetimes of arguments: references inside 36 kinds of calls, the order of destructors, and the memory of temporaries.

Usage: lifetimes.py plain|auto|frame recorded|paused   Prints one JSON object.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import json
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import fastdispatch

log: list[object] = []


class Value:
    def __init__(self, name: str = "") -> None:
        self.name = name

    def __del__(self) -> None:
        log.append(f"freed {self.name}")

    def __lt__(self, other: Value) -> bool:
        return see(self) is see(other)


def see(value: object) -> None:
    """Log the references of an argument, and release it: is it destroyed before the next line?"""
    log.append(sys.getrefcount(value))
    value = None
    log.append("released")


def default(value: object = None, *, other: object = None) -> None:
    see(value)
    see(other)


def star(*values: object) -> None:
    see(values[0])
    values = ()
    log.append("released")


def double_star(**values: object) -> None:
    see(values["a"])
    values.clear()
    log.append("released")


def returned(value: object) -> object:
    log.append(sys.getrefcount(value))
    return value


def deleted(value: object) -> None:
    del value
    log.append("deleted")


def rebound(value: object) -> None:
    for number in range(3):
        value = Value(f"rebound {number}")  # noqa: F841
    log.append("end")


def raises(value: object) -> None:
    raise ValueError(sys.getrefcount(value))


def recursive(value: object, depth: int) -> None:
    if depth:
        recursive(value, depth - 1)
    log.append(sys.getrefcount(value))


def in_a_cell(value: object) -> None:
    def inner() -> int:
        return sys.getrefcount(value)

    log.append(inner())
    value = None
    log.append("released")


def generator(value: object) -> Iterator[object]:
    log.append(sys.getrefcount(value))
    value = None
    log.append("released")
    sent = yield
    log.append(sys.getrefcount(sent))
    sent = None
    yield


def delegating(value: object) -> Iterator[object]:
    yield from generator(value)


async def coroutine(value: object) -> None:
    see(value)
    value = None
    await asyncio.sleep(0)
    log.append("released")


async def asynchronous(value: object) -> AsyncIterator[int]:
    see(value)
    value = None
    yield 1


@contextlib.contextmanager
def managed(value: object) -> Iterator[None]:
    see(value)
    value = None
    yield


def decorated(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def wrapper(*args: object, **kwargs: object) -> None:
        function(*args, **kwargs)

    return wrapper


class Kinds:
    """One method per kind of call that needs a class."""

    def __init__(self, value: object = None) -> None:
        see(value)
        value = None
        log.append("released")

    def method(self, value: object) -> None:
        see(value)

    __call__ = __getitem__ = __add__ = method
    of_class, static = classmethod(method), staticmethod(see)

    def __contains__(self, value: object) -> bool:
        return see(value) is None

    @property
    def read(self) -> None:
        log.append(sys.getrefcount(self))

    @read.setter
    def read(self, value: object) -> None:
        see(value)

    def __getattr__(self, name: str) -> int:
        return sys.getrefcount(self)


class Derived(Kinds):
    def method(self, value: object) -> None:
        super().method(value)


async def iterate() -> None:
    async for number in asynchronous(Value("async for")):
        log.append(number)


def use_generator(made: Any) -> None:
    next(made)
    made.send(Value("sent"))
    made = None
    log.append("generator released")


def catch() -> None:
    with contextlib.suppress(ValueError):
        raises(Value("raises"))


def manage() -> None:
    with managed(Value("with")):
        log.append("inside")


def run_thread() -> None:
    thread = threading.Thread(target=see, args=(Value("thread"),))
    thread.start()
    thread.join()


def chain(x: Any) -> int:
    """The most memory of temporaries that replace the argument, MB."""
    highest = 0
    for _ in range(3):
        x = x + b"."
        highest = max(highest, resident())
    return highest


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4 // 1024


kinds = Kinds()
derived = Derived()
PROGRAMS: dict[str, Callable[[], object]] = {
    "positional": lambda: see(Value("a")),
    "keyword": lambda: see(value=Value("a")),
    "defaults": lambda: default(Value("a"), other=Value("b")),
    "star": lambda: star(Value("a"), Value("b")),
    "star of a tuple": lambda: see(*(Value("a"),)),
    "double star": lambda: double_star(a=Value("a"), b=Value("b")),
    "double star of a dict": lambda: see(**{"value": Value("a")}),
    "returned": lambda: see(returned(Value("a"))),
    "deleted": lambda: deleted(Value("a")),
    "rebound": lambda: rebound(Value("a")),
    "raises": catch,
    "recursive": lambda: recursive(Value("a"), 3),
    "cell": lambda: in_a_cell(Value("a")),
    "lambda": lambda: (lambda value: log.append(sys.getrefcount(value)))(Value("a")),
    "comprehension": lambda: [see(value) for value in (Value("a"), Value("b"))],
    "generator": lambda: use_generator(generator(Value("a"))),
    "yield from": lambda: use_generator(delegating(Value("a"))),
    "coroutine": lambda: asyncio.run(coroutine(Value("a"))),
    "async for": lambda: asyncio.run(iterate()),
    "with": manage,
    "decorated": lambda: decorated(see)(Value("a")),
    "constructor": lambda: Kinds(Value("a")),
    "method": lambda: kinds.method(Value("a")),
    "method of a temporary": lambda: Derived(Value("b")).method(Value("a")),
    "super": lambda: derived.method(Value("a")),
    "class method": lambda: Kinds.of_class(Value("a")),
    "static method": lambda: kinds.static(Value("a")),
    "call": lambda: kinds(Value("a")),
    "subscript": lambda: kinds[Value("a")],
    "operator": lambda: kinds + Value("a"),
    "in": lambda: Value("a") in kinds,
    "property": lambda: (kinds.read, setattr(kinds, "read", Value("a"))),
    "missing attribute": lambda: log.append(kinds.missing),
    "partial": lambda: functools.partial(see, Value("a"))(),
    "C callback": lambda: (list(map(see, [Value("a")])), sorted([Value("b"), Value("c")])),
    "thread": run_thread,
}


def observed() -> dict[str, object]:
    found: dict[str, object] = {}
    for name, program in PROGRAMS.items():
        for _ in range(3):  # as specialised and inlined code, too
            log.clear()
            program()
        found[name] = log.copy()
    return found


source, mode = sys.argv[1:3]
gc.disable()  # its callbacks are calls
graph: Any = contextlib.nullcontext()
if source != "plain":
    schedule = (lambda step: 0) if mode == "paused" else None
    graph = fastdispatch.CallGraph(None, calls=source, ops="off", schedule=schedule)  # type: ignore[arg-type]
with graph:
    result = observed()
    before = resident()
    result["megabytes"] = round(chain(b"." * (100 << 20)) - before, -2)
print(json.dumps(result))
