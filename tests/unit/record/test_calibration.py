"""The cost of an event does not depend on other work of the machine during the measurement."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from fastdispatch.record import calibration
from fastdispatch.record.calibration import Rounds
from fastdispatch.record.environment import source_of_calls

PLAIN, ADDED = 1000, 200


def spell(*factors: float) -> Iterator[float]:
    """Factors of the speed of a machine: those of a spell of other work, then 1."""
    yield from factors
    while True:
        yield 1.0


def measure(rounds: Rounds, recorded: Iterator[float], plain: Iterator[float]) -> None:
    rounds.measure(lambda: round((PLAIN + ADDED) * next(recorded)), lambda: round(PLAIN * next(plain)))


def test_quiet_machine() -> None:
    rounds = Rounds()
    measure(rounds, spell(), spell())
    assert rounds.added() == ADDED
    assert len(rounds.plain) == len(rounds.recorded) == 6


@pytest.mark.parametrize("disturbed", ((3.0, 2.0, 2.5, 1.5), (1.3, 3.0, 1.6, 2.1, 5.0, 1.9, 2.4, 4.0, 1.1)), ids=len)
@pytest.mark.parametrize("sides", ((1, 0), (0, 1), (1, 1)), ids=("recorded", "plain", "both"))
def test_a_spell_delays_confirmation(disturbed: tuple[float, ...], sides: tuple[int, int]) -> None:
    rounds = Rounds()
    measure(rounds, *(spell(*disturbed * side) for side in sides))
    assert rounds.added() == ADDED


def test_second_measurement_corrects_a_spell_as_long_as_the_first() -> None:
    rounds = Rounds()
    measure(rounds, spell(*[2.0] * 6), spell(*[2.0] * 6))
    assert rounds.added() == 2 * ADDED
    measure(rounds, spell(), spell())
    assert rounds.added() == ADDED


def test_endless_disturbance_ends() -> None:
    rounds = Rounds()
    growing = (float(2**count) for count in range(1000))
    measure(rounds, growing, spell())
    assert len(rounds.recorded) == 60


def test_costs_are_measured_twice_per_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "_CALL_ROUNDS", {})
    measured = [calibration.call_cost(True), calibration.call_cost(True)]
    rounds = calibration._CALL_ROUNDS[True, False, source_of_calls("auto")]
    assert rounds.measurements == 2
    count = len(rounds.plain)
    assert calibration.call_cost(True) == measured[1]
    assert len(rounds.plain) == count


def test_costs_of_a_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    assert set(calibration.costs("auto", "off", True, False)) == {"python_call"}
    for source in ("auto", "record", "dispatch"):
        assert set(calibration.costs("auto", source, True, False)) == {"python_call", "operator"}
    monkeypatch.delitem(sys.modules, "torch")
    assert set(calibration.costs("auto", "auto", True, False)) == {"python_call"}
