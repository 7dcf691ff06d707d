"""The difference of two profiles of ``export pprof`` of one recording, for continuous profilers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from fastdispatch._core import Error
from fastdispatch.read.protobuf import fields, message, number, packed, unpacked

#: Fields of ``perftools.profiles.Profile``.
_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRING, _TIME, _DURATION = 1, 2, 4, 5, 6, 9, 10

#: The functions of a stack.
_Names = tuple[tuple[object, ...], ...]

_LARGER = "has larger figures than the recording: was it written with another --rank?"


@dataclass
class Profile:
    """The parts of a profile that a difference needs."""

    types: list[bytes] = field(default_factory=list)
    strings: list[bytes] = field(default_factory=list)
    functions: dict[int, tuple[int, ...]] = field(default_factory=dict)  # name, system name, file, line
    locations: dict[int, tuple[int, int]] = field(default_factory=dict)  # function, line
    samples: list[tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)  # locations, values
    time: int = 0  # ns since 1970
    duration: int = 0
    others: list[bytes] = field(default_factory=list)  # all fields except samples and times

    @property
    def end(self) -> int:
        return self.time + self.duration

    def type_names(self) -> list[tuple[bytes, ...]]:
        """Return type and unit of the values. Raises ValueError for missing texts."""
        try:
            return [tuple(self.strings[text] for text in _numbers(each).values()) for each in self.types]
        except IndexError:
            raise ValueError("a type of samples without its text") from None

    def names(self) -> dict[int, tuple[object, ...]]:
        """Return the function of each location, as texts. Raises ValueError for missing rows."""
        try:
            return {
                at: (*(self.strings[text] for text in self.functions[function][:3]), line)
                for at, (function, line) in self.locations.items()
            }
        except (KeyError, IndexError):
            raise ValueError("a location without its function") from None


def parse_profile(content: bytes) -> Profile:
    """Parse a profile as ``export pprof`` writes it. Raises ValueError for malformed content."""
    made = Profile()
    for name, value in fields(content):
        if name == _TIME and isinstance(value, int):
            made.time = value
        elif name == _DURATION and isinstance(value, int):
            made.duration = value
        elif isinstance(value, bytes):
            _add_part(made, name, value)
        if name not in (_SAMPLE, _TIME, _DURATION):
            made.others.append(number(name, value) if isinstance(value, int) else message(name, value))
    if not made.types or any(len(values) != len(made.types) for _, values in made.samples):
        raise ValueError("samples without their types")
    return made


def _add_part(made: Profile, name: int, value: bytes) -> None:
    if name == _SAMPLE_TYPE:
        made.types.append(value)
    elif name == _STRING:
        made.strings.append(value)
    elif name == _SAMPLE:
        lists: dict[int, list[int]] = defaultdict(list)
        for at, content in fields(value):
            lists[at] += unpacked(content)
        made.samples.append((tuple(lists[1]), tuple(lists[2])))
    elif name == _FUNCTION:
        numbers = _numbers(value)
        made.functions[numbers.get(1, 0)] = tuple(numbers.get(at, 0) for at in (2, 3, 4, 5))
    elif name == _LOCATION:
        line = next((content for at, content in fields(value) if at == 4 and isinstance(content, bytes)), b"")
        made.locations[_numbers(value).get(1, 0)] = (_numbers(line).get(1, 0), _numbers(line).get(2, 0))


def _numbers(content: bytes) -> dict[int, int]:
    return {at: value for at, value in fields(content) if isinstance(value, int)}


def pprof_delta(new: Profile, old: Profile) -> bytes:
    """Return the profile of what `new` has in addition to `old`, an earlier profile of the same recording: it begins at
    the end of `old` and ends with `new`. Raises Error if `old` has larger values, ValueError for malformed ones."""
    if new.type_names() != old.type_names():
        raise ValueError("other types of samples")
    before, _ = _sums(old)
    after, stacks = _sums(new)
    if before.keys() - after.keys():
        raise Error(_LARGER)
    made = new.others[:]
    for names, values in after.items():
        earlier = before.get(names, [0] * len(values))
        added = [value - less for value, less in zip(values, earlier, strict=True)]
        if min(added) < 0:
            raise Error(_LARGER)
        if any(added):
            made.append(message(_SAMPLE, packed(1, stacks[names]) + packed(2, added)))
    return b"".join(made) + number(_TIME, old.end) + number(_DURATION, max(new.end - old.end, 0))


def _sums(profile: Profile) -> tuple[dict[_Names, list[int]], dict[_Names, tuple[int, ...]]]:
    """Return the values of each stack, by its names, and the locations of one sample of it."""
    sums: dict[_Names, list[int]] = {}
    stacks: dict[_Names, tuple[int, ...]] = {}
    functions = profile.names()
    for stack, values in profile.samples:
        names = tuple(functions[at] for at in stack if at in functions)
        stacks.setdefault(names, stack)
        found = sums.setdefault(names, [0] * len(values))
        found[:] = [value + more for value, more in zip(found, values, strict=True)]
    return sums, stacks
