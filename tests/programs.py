"""Small programs that are difficult for a recorder: deterministic functions without arguments."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import threading
from collections.abc import Callable, Iterator


def leaf(x: int) -> int:
    return x + 1


class Base:
    def __init__(self, value: int) -> None:
        self.value = value

    def method(self) -> int:
        return leaf(self.value)

    def closure(self) -> Callable[[], int]:
        def inner() -> int:
            return self.method()

        return inner

    @classmethod
    def make(cls, value: int) -> Base:
        return cls(value)

    @staticmethod
    def static(value: int) -> int:
        return leaf(value)

    @property
    def doubled(self) -> int:
        return 2 * self.method()

    def __getitem__(self, index: int) -> int:
        return leaf(index)

    def __lt__(self, other: Base) -> bool:
        return self.value < other.value

    def __call__(self, value: int) -> int:
        return self.method() + value


class Derived(Base):
    def method(s) -> int:
        return super().method()


class Meta(type):
    def __new__(mcs, name, bases, space):
        return super().__new__(mcs, name, bases, space)

    def __call__(cls, *args):
        return super().__call__(*args)


class WithMeta(metaclass=Meta):
    def __init__(self) -> None:
        leaf(1)


def classes() -> None:
    for kind in (Base, Derived):
        made = kind.make(3)
        made.method()
        made.closure()()
        kind.static(2)
        assert made.doubled
        made[4]
        made(5)
    sorted([Base(3), Derived(1), Base(2)])
    WithMeta()


class Leaf:
    def __init__(self, value: int) -> None:
        self.value = value


class Nest(Leaf):
    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.leaf = Leaf(leaf(value))


class Refuser:
    def __init__(self, value: int) -> None:
        if value % 3:
            raise ValueError(value)


def constructors() -> None:
    """Classes called often from the same places, which 3.13 specializes."""
    for i in range(60):
        Leaf(i)
        Nest(i)
        with contextlib.suppress(ValueError):
            Refuser(i)
        for kind in (Leaf, Nest, Base):
            kind(i)
    for _ in range(4):

        class Local:
            def __init__(self, value: int) -> None:
                self.value = value

        for j in range(20):
            Local(j)


def recursion() -> None:
    def fibonacci(n: int) -> int:
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    fibonacci(12)
    even(61)


def closed_generator() -> None:
    """From 3.14 on, CPython closes a generator that catches nothing without running it, unless a tool monitors it."""

    def count() -> Iterator[int]:
        yield leaf(1)

    closed = count()
    next(closed)
    closed.close()


def generators() -> None:
    def count(n: int) -> Iterator[int]:
        for i in range(n):
            received = yield leaf(i)
            if received:
                leaf(received)

    def guarded() -> Iterator[int]:
        try:
            yield leaf(1)
        finally:
            leaf(2)

    def delegate(n: int) -> Iterator[int]:
        yield from count(n)
        yield from (leaf(i) for i in range(2))

    list(delegate(3))
    talker = count(5)
    next(talker)
    talker.send(7)
    with contextlib.suppress(ValueError):
        talker.throw(ValueError())
    closed = guarded()
    next(closed)
    closed.close()
    count(9)  # never started


def coroutines() -> None:
    async def child(n: int) -> int:
        await asyncio.sleep(0)
        return leaf(n)

    async def stream(n: int):
        for i in range(n):
            yield await child(i)

    async def main() -> None:
        await asyncio.gather(*(child(i) for i in range(4)))
        async for value in stream(3):
            leaf(value)

    asyncio.run(main())


def exceptions() -> None:
    def fail(n: int) -> None:
        if n == 0:
            raise KeyError(n)
        fail(n - 1)

    def catch() -> None:
        try:
            fail(4)
        except KeyError:
            leaf(0)
        finally:
            leaf(1)

    catch()
    with contextlib.suppress(KeyError):
        fail(2)
    with contextlib.suppress(TypeError):
        leaf()  # type: ignore[call-arg]


def callbacks() -> None:
    list(map(leaf, range(5)))
    sorted(range(5), key=lambda x: -leaf(x))
    functools.reduce(lambda a, b: a + b, range(5))
    functools.lru_cache(leaf)(3)
    {leaf(i): i for i in range(3)}
    [leaf(i) for i in range(3)]
    functools.partial(leaf, 3)()


def executed() -> None:
    space: dict[str, object] = {"leaf": leaf}
    exec(
        "def made(x):\n    return leaf(x)\nmade(1)\nclass C:\n    def m(self):\n        return made(2)\nC().m()", space
    )
    eval("made(3)", space)


def threads() -> None:
    def work(n: int) -> None:
        for i in range(n):
            Base(i).method()

    started = [threading.Thread(target=work, args=(n,), name=f"worker-{n}") for n in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


@contextlib.contextmanager
def managed() -> Iterator[int]:
    yield leaf(1)


def contexts() -> None:
    for _ in range(3):
        with managed() as value:
            leaf(value)


def numbers(start: int) -> Iterator[list[int]]:
    for i in range(start, start + 3):
        yield [i]


def collections() -> None:
    """Garbage collections between the call of a function and its first instruction."""
    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    try:
        kept = []
        for i in range(30):
            kept.append(Base(i))
            kept.extend(numbers(i))
    finally:
        gc.set_threshold(*thresholds)


def fresh_code() -> None:
    """Code objects and classes that are created and freed, at reused addresses."""
    for i in range(50):
        local = type(f"Local{i % 3}", (Base,), {"other": lambda self: leaf(self.value)})
        local(i).other()
        (lambda: leaf(i))()


PLAIN = (
    classes,
    constructors,
    recursion,
    generators,
    coroutines,
    exceptions,
    callbacks,
    executed,
    contexts,
    fresh_code,
    collections,
)
