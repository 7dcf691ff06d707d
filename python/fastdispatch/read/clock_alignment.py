"""Alignment of the clocks of ranks: the best method for each (docs/concepts/clocks.md).

The core extracts what is known about the clocks of recordings and traces, and applies the corrections.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from fastdispatch import _core
from fastdispatch.read.clock_maps import LEAST, MOST, Bound, ClockMap, Fit, Ping, fit_bounds, fit_pings, rounded
from fastdispatch.read.clock_samples import no_moments, sample, share_of
from fastdispatch.read.rank_dicts import facts_of

#: The map of times to themselves.
SAME = ClockMap()

#: Methods that estimate clocks, the best first, and all that can be requested.
ESTIMATED = ("pingpong", "collective", "p2p")
METHODS = ("none", "wall", "start", "auto", *ESTIMATED)

_DAY = 86400 * 10**9
_MOST_LISTED = 120  # characters of a list of ranks


@dataclass
class ClockFacts:
    """Facts about the clock of an input, with a sample of its moments: base (real time of time 0, ns since 1970) and
    first (the earliest event, ns), or None; boot (the boot id, None: unknown), boottime (ns since boot at time 0)."""

    rank: int
    base: int | None
    first: int | None
    boot: bytes | None
    boottime: int
    host: bytes
    parts: dict[str, memoryview]
    messages: dict[str, memoryview]
    pings: dict[str, list[int]]


@dataclass
class RankClock:
    """The correction of a rank: ``method``, the map to the common clock, the bound on its error (-1: unknown), the
    distance from the result of the next method, and the number of effects that begin before their cause; ns."""

    method: str = "none"
    clock: ClockMap = SAME
    uncertainty: int = -1
    residual: int | None = None
    violations: int = 0

    def accept(self, method: str, fit: Fit) -> None:
        self.method, self.clock, self.uncertainty = method, *fit

    @property
    def done(self) -> bool:
        return self.method != "none"

    def row(self) -> tuple[Any, ...]:
        """The row for the core."""
        return (self.method, *self.clock, self.uncertainty, self.residual, self.violations)


class Clocks(NamedTuple):
    """``base``: the real time of time 0, ns since 1970."""

    base: int | None
    ranks: list[RankClock]

    def rows(self) -> tuple[int | None, list[tuple[Any, ...]]]:
        return self.base, [each.row() for each in self.ranks]


class Aligner:
    """A method of alignment. ``strict`` rejects ranks with an unknown error."""

    def __init__(self, method: str, strict: bool = False) -> None:
        if method not in METHODS:
            raise _core.ArgumentError(f"align={method} is unknown")
        self.method, self.strict = method, strict

    @property
    def moments(self) -> bool:
        """Whether it uses collectives, messages and pings."""
        return self.method == "auto" or self.method in ESTIMATED

    @property
    def starts(self) -> bool:
        """Whether it uses the earliest events."""
        return self.method == "start"

    def __call__(self, facts: Sequence[dict[str, Any]]) -> Clocks:
        found = aligned([ClockFacts(**each) for each in facts], self.method)
        unknown = [each["rank"] for each, clock in zip(facts, found.ranks, strict=True) if clock.uncertainty < 0]
        if self.strict and unknown:
            ranks = ", ".join(map(str, unknown))[:_MOST_LISTED]
            remedy = "omit --require-aligned-clocks or record with pings (docs/concepts/clocks.md)"
            raise _core.Error(f"unknown clock error of rank {ranks}: {remedy}")
        return found

    def clocks_of(self, core: _core.Trace) -> Clocks:
        """Align the ranks of a trace that was read with its timeline."""
        found = [_clock_facts(core, at) for at in range(len(core.columns("rank")["rank"]))]
        share = share_of(len(found))
        named = core.columns("nodes")["name"] if self.moments and share else []
        kinds = []
        if any(name.startswith(("gloo:", "nccl")) for name in named):
            from fastdispatch.read.sync_events import collectives_of, kinds_of_contexts

            kinds = kinds_of_contexts(core)
        for index, each in enumerate(found):
            each |= no_moments() | ({"parts": collectives_of(core, index, kinds)} if any(kinds) else {})
        facts = [sample(each, share) for each in found]
        base, clocks = self(facts)
        return Clocks(facts[0]["base"] if base is None and facts else base, clocks)


def _clock_facts(core: _core.Trace, at: int) -> dict[str, Any]:
    """Return facts about the clock of the rank at an index: ``clock`` has pings."""
    boot = core.columns("rank", at)["boot_id"][0]
    start = {name: values.cast("B").cast("q")[0] for name, values in core.arrays("start", at).items()}
    return {
        "rank": core.columns("rank", at)["rank"][0],
        "base": start["realtime"],
        "first": 0,
        "boot": None if boot == "0" * 32 else boot.encode(),
        "boottime": start["boottime"],
        "host": b"",
        "clock": facts_of(core, at).get("clock", "").encode(),
    }


def aligned(inputs: Sequence[ClockFacts], method: str) -> Clocks:
    """Align inputs, which are sorted by rank."""
    clocks = [RankClock() for _ in inputs]
    reference = next((i for i, each in enumerate(inputs) if each.base is not None), 0)
    if method == "start":
        for each, clock in zip(inputs, clocks, strict=True):
            if each.first is not None and each.first > LEAST:
                clock.method, clock.clock = "start", ClockMap(offset=-each.first)
    if method in ("none", "start") or not inputs:
        return Clocks(None, clocks)
    if method == "wall":
        _accept_walls(inputs, clocks, reference)
        return Clocks(_move_base(inputs, clocks, reference), clocks)
    try:
        estimates = Estimates(inputs, reference)
    except ModuleNotFoundError as error:
        raise _core.Error(
            f"the clocks of several ranks need the package {error.name}: pip install 'fastdispatch[view]'"
        ) from None
    clocks[reference].accept("reference", Fit(SAME, 0))
    for name, fits in estimates.of.items():
        if method in ("auto", name):
            _accept_method(inputs, clocks, reference, name, fits, method == "auto")
    _accept_walls(inputs, clocks, reference)
    _find_residuals(clocks, reference, estimates)
    for clock, violations in zip(clocks, estimates.violations([each.clock for each in clocks]), strict=True):
        clock.violations = violations
    base = _move_base(inputs, clocks, reference)
    if sum(each.uncertainty >= 0 for each in clocks) == 1:  # the reference is not one of another input
        clocks[reference].method = "none" if inputs[reference].base is None else "wall"
        clocks[reference].uncertainty = -1 if len(inputs) > 1 else 0
    return Clocks(base, clocks)


def _same_clock(own: int, other: int, uncertainty: int) -> Fit:
    """Return the fit of two inputs that read the same clock: their times differ only in where they start to count."""
    return Fit(ClockMap(offset=_or_0(own - other)), uncertainty)


def _or_0(ns: int) -> int:
    return ns if LEAST <= ns <= MOST else 0


def _accept_hosts(inputs: Sequence[ClockFacts], clocks: Sequence[RankClock]) -> None:
    """Align all inputs whose machine has the same boot id as that of an aligned input."""
    known: dict[bytes, int] = {}
    for i, each in enumerate(inputs):
        if each.boot is not None and clocks[i].done:
            known.setdefault(each.boot, i)
    for each, clock in zip(inputs, clocks, strict=True):
        if not clock.done and each.boot is not None and each.boot in known:
            host = known[each.boot]
            fit = _same_clock(each.boottime, inputs[host].boottime, 0)
            clock.accept("host", fit.then(Fit(clocks[host].clock, clocks[host].uncertainty)))


def _same_host(own: ClockFacts, other: ClockFacts, fit: Fit) -> Fit | None:
    """Return the fit of two traces that read the same clock. Traces of other programs do not state their clock: it is
    the same if their hosts have the same name and their collectives and messages do not contradict it."""
    if not own.host or own.boot is not None or own.base is None or other.base is None or own.host != other.host:
        return None
    better = _same_clock(own.base, other.base, 0)
    apart = fit.clock(fit.clock.at) - better.clock(fit.clock.at)
    return better if abs(apart) <= fit.uncertainty else None


def _accept_method(
    inputs: Sequence[ClockFacts],
    clocks: Sequence[RankClock],
    reference: int,
    method: str,
    fits: dict[int, Fit],
    automatic: bool,
) -> None:
    """Align the inputs by their uncertainty, the smallest first, and after each one all inputs of its host."""
    if automatic:
        _accept_hosts(inputs, clocks)
    for i in sorted(fits, key=lambda i: (fits[i].uncertainty, i)):
        if clocks[i].done:
            continue
        better = _same_host(inputs[i], inputs[reference], fits[i]) if automatic else None
        clocks[i].accept(method if better is None else "host", better or fits[i])
        if automatic:
            _accept_hosts(inputs, clocks)


def _accept_walls(inputs: Sequence[ClockFacts], clocks: Sequence[RankClock], reference: int) -> None:
    """Align by the wall clock, with unknown accuracy."""
    other = inputs[reference].base
    for each, clock in zip(inputs, clocks, strict=True):
        if not clock.done and each.base is not None and other is not None:
            clock.accept("wall", _same_clock(each.base, other, -1))


def _near_events(inputs: Sequence[ClockFacts], clocks: Sequence[RankClock], least: int, most: int) -> int:
    """Return time 0 of the merge. Viewers store microseconds in a double, which is exact to the nanosecond up to
    2^40 us. If inputs have a base and the first event is later than that, time 0 is one day before the event; not
    earlier, since only some events of a file were read and there may be earlier ones."""
    firsts = [
        clock.clock(each.first)
        for each, clock in zip(inputs, clocks, strict=True)
        if clock.done and each.first is not None
    ]
    far = least + (1 << 50)
    return min(firsts) - _DAY if most > least and firsts and far < min(firsts) < MOST else least


def _move_base(inputs: Sequence[ClockFacts], clocks: Sequence[RankClock], reference: int) -> int | None:
    """Move time 0 of the merge to the earliest time 0 of the aligned inputs, so that no time is negative, and return
    its real time. Inputs without alignment keep their times."""
    base = inputs[reference].base
    if base is None:
        return None
    zeros = [0, *(each.clock(0) for each in clocks if each.done)]
    least = _near_events(inputs, clocks, min(zeros), max(zeros))
    if not LEAST <= base + least <= MOST:
        return None
    for each in clocks:
        each.clock = each.clock.then(ClockMap(offset=-least)) if each.done else each.clock
    return base + least


def _find_residuals(clocks: Sequence[RankClock], reference: int, estimates: Estimates) -> None:
    """Set the difference between the chosen alignment of each input and that of another method."""
    for i, clock in enumerate(clocks):
        others = [
            estimates.of[method][i] for method in ESTIMATED if method != clock.method and i in estimates.of[method]
        ]
        if i != reference and clock.done and others:
            at = others[0].clock.at
            clock.residual = rounded(float(clock.clock(at) - others[0].clock(at)))


class Estimates:
    """The clocks of inputs by each method: ``of[method][index]`` is the fit from times of an input to times of the
    reference."""

    def __init__(self, inputs: Sequence[ClockFacts], reference: int) -> None:
        self._inputs = inputs
        self._index: dict[int, int] = {}
        for i, each in enumerate(inputs):
            self._index.setdefault(each.rank, i)
        self.of: dict[str, dict[int, Fit]] = {method: {reference: Fit(SAME, 0)} for method in ESTIMATED}
        self._spread_pings()
        self._collectives = self._fit_collectives(reference)
        self._spread_messages()

    def _spread_pings(self) -> None:
        """Fit ranks that pinged an aligned rank, and ranks that an aligned rank pinged, step by step."""
        fits = self.of["pingpong"]
        more = True
        while more:
            before = len(fits)
            for asker, each in enumerate(self._inputs):
                for rank, _ in groupby(each.pings["peer"]):
                    other = self._index.get(rank)
                    if other is None or (asker in fits) == (other in fits):
                        continue
                    fit = self._ping_fit(asker, other)
                    if fit is not None and asker in fits:
                        fits[other] = Fit(fit.clock.inverse(), fit.uncertainty).then(fits[asker])
                    elif fit is not None:
                        fits[asker] = fit.then(fits[other])
            more = len(fits) > before

    def _ping_fit(self, asker: int, other: int) -> Fit | None:
        """Fit the pings between two inputs. Pings compare the clocks of machines, but times of traces are counted from
        another time."""
        own, peer = self._inputs[asker], self._inputs[other]
        if own.boot is None or peer.boot is None:
            return None
        rows = zip(*(own.pings[name] for name in ("peer", *Ping._fields)), strict=True)
        fit = fit_pings([Ping(*times) for rank, *times in rows if rank == peer.rank])
        if fit is None:
            return None
        at = _or_0(fit.clock.at - own.boottime)
        offset = _or_0(fit.clock.offset + _or_0(own.boottime - peer.boottime))
        return Fit(ClockMap(at, offset, fit.clock.drift), fit.uncertainty)

    def _fit_collectives(self, reference: int) -> Any:
        if len(self._inputs) == 1 or not any(each.parts["kind"] for each in self._inputs):
            return None
        import numpy as np

        from fastdispatch.read.collective_clocks import Collectives

        parts = [each.parts for each in self._inputs]
        columns = {name: np.concatenate([np.asarray(each[name]) for each in parts]) for name in parts[0]}
        columns["member"] = np.repeat(np.arange(len(parts)), [len(each["kind"]) for each in parts])
        found = Collectives(columns, len(parts), reference)
        self.of["collective"] = found.fits
        return found

    def _spread_messages(self) -> None:
        """Fit ranks that exchanged messages with an aligned rank, step by step."""
        fits = self.of["p2p"]
        more = True
        while more:
            before = len(fits)
            for own in range(len(self._inputs)):
                for other in self._peers(own):
                    if own in fits:
                        break
                    if other in fits and (fit := fit_bounds(list(self._exchanged(own, other)))) is not None:
                        fits[own] = fit.then(fits[other])
            more = len(fits) > before

    def _peers(self, own: int) -> Iterator[int]:
        """Yield the inputs with which an input exchanged messages."""
        for rank, _ in groupby(self._inputs[own].messages["peer"]):
            other = self._index.get(rank)
            if other is not None and other != own:
                yield other

    def _exchanged(self, own: int, other: int) -> Iterator[Bound]:
        """Yield the messages between two inputs whose other end is known."""
        ends = {each[:-1]: each[-1] for each in self._messages(other, self._inputs[own].rank)}
        for received, *key, time in self._messages(own, self._inputs[other].rank):
            end = ends.get((not received, *key))
            if end is not None:
                yield Bound(time, end, not received)

    def _messages(self, own: int, peer: int) -> Iterator[tuple[int, ...]]:
        """Yield direction, tag, order, total and time of the messages of an input with a rank."""
        columns = self._inputs[own].messages
        rows = slice(bisect_left(columns["peer"], peer), bisect_right(columns["peer"], peer))
        yield from zip(*(columns[name][rows] for name in ("received", "tag", "order", "total", "time")), strict=True)

    def violations(self, maps: Sequence[ClockMap]) -> list[int]:
        """Count, for each input, collectives that it ended before another rank began them, and messages that it
        received before they were sent."""
        found = [0] * len(maps)
        for own, clock in enumerate(maps):
            for other in self._peers(own):
                received = (each for each in self._exchanged(own, other) if not each.earlier)
                found[own] += sum(clock(each.own) < maps[other](each.other) for each in received)
        if self._collectives is not None:
            parts = self._collectives.joined_parts()
            last: dict[int, int] = {}
            for group, member, begin, _ in parts:
                last[group] = max(maps[member](begin), last.get(group, LEAST))
            for group, member, _, end in parts:
                found[member] += maps[member](end) < last[group]
        return found
