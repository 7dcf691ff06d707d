"""Corrections of clocks by pings, messages and collectives, on clocks of known error."""

import random
import sys
from collections.abc import Iterable
from typing import Any

import pytest

from fastdispatch.read.clock_alignment import Aligner, ClockFacts, aligned
from fastdispatch.read.clock_maps import LEAST, MOST, Bound, ClockMap, Ping, fit_bounds, fit_pings, rounded

np = pytest.importorskip("numpy")

from fastdispatch._core import ArgumentError, Error  # noqa: E402
from fastdispatch.read.collective_clocks import Collectives, lower_line, median_line  # noqa: E402

RANKS = 4


def test_maps() -> None:
    fast = ClockMap(1000, -7, 100_000_000)  # 100 ppm
    assert [fast(time) for time in (1000, 10_001_000, -9_999_000)] == [993, 10_001_993, -10_000_007]
    assert ClockMap(offset=5)(MOST) == MOST
    both = ClockMap(offset=5).then(fast)
    assert all(abs(both(time) - fast(time + 5)) <= 1 for time in range(-3 * 10**9, 3 * 10**9, 777_777_777))
    assert abs(fast.inverse()(fast(10**9)) - 10**9) <= 1
    assert [rounded(each) for each in (1e300, -1e300, 2.5, float("nan"))] == [MOST, LEAST, 2, LEAST]


def theirs(own: int) -> int:
    """A clock that is 7 s ahead and 50 ppm slow."""
    return own + 7 * 10**9 - own // 20_000


def test_pings() -> None:
    pings = []
    for i in range(8):
        at = (0 if i < 4 else 60 * 10**9) + 100_000 * i
        there = at + 10_000 + 7000 * (i % 4)
        pings.append(Ping(at, theirs(there), there + 9000))
    fit = fit_pings(pings)
    assert fit is not None and fit.uncertainty == 9500
    assert all(abs(fit.clock(at) - theirs(at)) <= 9501 for at in range(0, 60 * 10**9, 7_777_777_777))
    assert abs(fit.clock.drift + 50_000_000) < 1_000_000
    short = fit_pings(pings[:4])
    assert short is not None and short.clock.drift == 0
    assert fit_pings([Ping(1, 0, 0)]) is fit_pings([]) is None


def test_messages_in_both_directions_bound_a_clock() -> None:
    bounds = []
    for i in range(40):
        at, way = 10**9 * i, 30_000 + 1000 * (i * 7 % 11)
        bounds.append(Bound(at, theirs(at + way), True) if i % 2 == 0 else Bound(at + way, theirs(at), False))
    fit = fit_bounds(bounds)
    assert fit is not None and 29_000 <= fit.uncertainty < 36_000
    assert all(fit.clock(own) <= other if earlier else fit.clock(own) >= other for own, other, earlier in bounds)
    assert all(abs(fit.clock(at) - theirs(at)) < 10_000 for at in range(0, 40 * 10**9, 7_777_777_777))
    assert fit_bounds(bounds[:1]) is fit_bounds([]) is None


def test_numbers_at_the_ends_of_the_range() -> None:
    assert fit_bounds([Bound(LEAST, MOST, True), Bound(MOST, LEAST, False)]) is not None
    assert fit_pings([Ping(LEAST, MOST, MOST)]) is not None


def test_lines() -> None:
    at, value = np.arange(8.0), np.array([10.0, 12, 90, 16, 18, 20, 22, 24])
    assert median_line(at, value, True) == (10, 2)
    assert median_line(at, value, False).slope == 0
    assert lower_line(at, value, 3.5, True) == (10, 2)
    value[5] = -50
    assert lower_line(at, value, 3.5, False) == (-50, 0)
    assert lower_line(at, value, 3.5, True) == (10, -12)
    assert lower_line(at, value, 5.5, True) == (-235, 37)


class Scene:
    """Members whose clocks are up to 10 s off and drift by up to 100 ppm; the first one is exact."""

    def __init__(self, seed: int, evenly: bool = False, count: int = 100) -> None:
        self.random, self.evenly, self.count = random.Random(seed), evenly, count
        self.skews = [(0.0, 0.0)] + [self._skew() for _ in range(RANKS - 1)]
        self.rows: list[tuple[int, ...]] = []

    def _skew(self) -> tuple[float, float]:
        return (self.random.random() - 0.5) * 2e10, (self.random.random() - 0.5) * 2e-4

    def shown(self, member: int, time: float) -> int:
        offset, drift = self.skews[member]
        return round(time + offset + drift * time)

    def _delay(self) -> float:
        if self.evenly:
            return 1000 * (20 + 180 * self.random.random())
        return min(1000 * (20 + self.random.expovariate(1 / 45)), 200_000)

    def perform(self, members: Iterable[int], kind: int = 7, late: float = 0) -> None:
        """Each member arrives at each collective at its own time, the second one ``late`` ns late everywhere."""
        now, members = 5e9, list(members)
        for number in range(self.count):
            now += 2e11 / self.count * self.random.random()
            begins = [now + self.random.expovariate(1 / 500e3) + (i == 1) * late for i, _ in enumerate(members)]
            for member, begin in zip(members, begins, strict=True):
                end = self.shown(member, max(begins) + self._delay())
                self.rows.append((kind, number, self.count, self.shown(member, begin), end, member))

    def fit(self) -> Collectives:
        types = {"kind": "u8", "order": "u8", "total": "u8", "begin": "i8", "end": "i8", "member": "i8"}
        columns = zip(*self.rows, strict=True) if self.rows else ([] for _ in types)
        return Collectives(
            {name: np.array(each, types[name]) for name, each in zip(types, columns, strict=True)}, RANKS, 0
        )

    def error(self, found: Collectives, member: int) -> float:
        """The error in ns, in the middle of the recording."""
        clock = found.fits[member].clock
        offset, drift = self.skews[member]
        time = (clock.at - offset) / (1 + drift)
        return abs(clock(self.shown(member, time)) - time)


@pytest.mark.parametrize(
    ("seeds", "late", "evenly", "count"),
    [(60, 0.0, False, 200), (10, 0.0, True, 500), (10, 5e6, False, 200)],
    ids=["most-short", "evenly", "straggler"],
)
def test_collectives_give_the_offset_within_5_us(seeds: int, late: float, evenly: bool, count: int) -> None:
    for seed in range(seeds):
        scene = Scene(seed, evenly, count)
        scene.perform(range(RANKS), late=late)
        found = scene.fit()
        assert max(scene.error(found, member) for member in range(RANKS)) < 5000
        assert all(scene.error(found, member) <= found.fits[member].uncertainty < 50_000 for member in range(1, RANKS))


def test_through_other_members() -> None:
    scene = Scene(5)
    scene.perform(range(2))
    scene.perform(range(1, 4), kind=8)
    found = scene.fit()
    assert all(scene.error(found, member) < 10_000 for member in range(RANKS))
    assert found.fits[3].uncertainty > found.fits[1].uncertainty


def test_groups_that_look_alike() -> None:
    scene = Scene(6)
    scene.perform(range(2))
    scene.perform(range(2, 4))
    assert sorted(scene.fit().fits) == [0, 1]


def test_nothing_in_common() -> None:
    scene = Scene(7)
    scene.perform(range(2))
    scene.rows = [(kind, order, total - member, *rest, member) for kind, order, total, *rest, member in scene.rows]
    assert sorted(scene.fit().fits) == [0]
    scene.rows = []
    assert sorted(scene.fit().fits) == [0]


def facts(rank: int, **known: Any) -> ClockFacts:
    nothing: dict[str, Any] = {"parts": "kind", "messages": "peer received tag order total time", "pings": "peer"}
    empty = {name: dict.fromkeys(columns.split(), memoryview(b"")) for name, columns in nothing.items()}
    return ClockFacts(
        **({"rank": rank, "base": None, "first": None, "boot": None, "boottime": 0, "host": b""} | empty | known)
    )


def test_walls_and_starts() -> None:
    base, clocks = aligned([facts(0, base=2000), facts(1, base=1000), facts(2, first=7)], "wall")
    assert base == 1000
    assert [(each.method, each.clock.offset) for each in clocks] == [("wall", 1000), ("wall", 0), ("none", 0)]
    base, clocks = aligned([facts(0, base=2000), facts(1, first=7)], "start")
    assert base is None
    assert [(each.method, each.clock.offset) for each in clocks] == [("none", 0), ("start", -7)]


def columns(names: str, rows: list[tuple[int, ...]]) -> dict[str, Any]:
    return dict(zip(names.split(), map(list, zip(*rows, strict=True)), strict=True))


def test_messages_along_a_pipeline() -> None:
    """Rank r is r seconds ahead; messages are 30 us on their way."""
    ranks = []
    for rank in range(3):
        rows = []
        for peer in (rank - 1, rank + 1):
            for received, order in ((received, order) for received in (False, True) for order in range(20)):
                sent = order * 10**8 + (peer > rank) * 5 * 10**7 * (1 - 2 * received) + received * 5 * 10**7
                rows.append((peer, received, 5, order, 20, sent + rank * 10**9 + received * 30_000))
        known = columns("peer received tag order total time", [row for row in rows if 0 <= row[0] < 3])
        ranks.append(facts(rank, base=0, messages=known))
    _, clocks = aligned(ranks, "p2p")
    assert [each.method for each in clocks] == ["reference", "p2p", "p2p"]
    assert [each.violations for each in clocks] == [0, 0, 0]
    for rank, each in enumerate(clocks):
        error = abs(each.clock(rank * 10**9) - clocks[0].clock(0))
        assert error <= each.uncertainty <= 30_000 * rank


def test_pings_in_both_directions() -> None:
    """Rank 1 pinged 0 and 2; its trace counts from 100 ns after those of rank 0."""
    times = [(peer, i * 2 * 10**10) for peer in (0, 2) for i in range(8)]
    pings = [(peer, at + 10**9 + 100, at + 9000 + peer * 10**9 + 100 * peer, at + 10**9 + 20_100) for peer, at in times]
    known = columns("peer sent replied received", pings)
    boots = [b"a", b"b", b"c"]
    ranks = [facts(rank, base=0, boot=boots[rank], boottime=100 * rank) for rank in range(3)]
    ranks[1].pings = known
    _, clocks = aligned(ranks, "auto")
    assert [each.method for each in clocks] == ["reference", "pingpong", "pingpong"]
    assert [each.uncertainty for each in clocks] == [0, 10_000, 20_000]
    for rank, each in enumerate(clocks):
        assert abs(each.clock(rank * 10**9) - clocks[0].clock(0)) <= 2000


def test_clocks_of_several_ranks_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    row = {"kind": [7]}
    with pytest.raises(
        Error, match=r"clocks of several ranks need the package numpy: pip install 'fastdispatch\[view\]'"
    ):
        aligned([facts(rank, parts=row) for rank in range(2)], "auto")
    assert [each.method for each in aligned([facts(0, parts=row)], "auto").ranks] == ["none"]
    assert [each.method for each in aligned([facts(rank, base=1) for rank in range(2)], "wall").ranks] == ["wall"] * 2


def test_strict_names_the_ranks() -> None:
    rows = [vars(facts(rank, base=rank)) for rank in range(2)]
    assert [each.method for each in Aligner("auto")(rows).ranks] == ["wall", "wall"]
    with pytest.raises(Error, match="unknown clock error of rank 0, 1: omit --require-aligned-clocks or record with"):
        Aligner("auto", strict=True)(rows)
    with pytest.raises(ArgumentError, match="align=any is unknown"):
        Aligner("any")


def test_arrays_of_times() -> None:
    far, big = 1 << 62, 1 << 31
    for clock in (
        ClockMap(),
        ClockMap(5, -7, 3),
        ClockMap(1 - far // 2, 9, big - 1),
        ClockMap(77, 0, -500_000_003),
        ClockMap(0, LEAST),
    ):
        times = [0, 1, -1, 10**12 + 5, -(10**12) - 7, 999_999_500_001, 123_456_789_012_345_678, far - 1, 1 - far]
        assert clock.moved(np.array(times)).tolist() == [clock(time) for time in times]
