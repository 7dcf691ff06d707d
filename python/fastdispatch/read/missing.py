"""Ranks of a run without a recording, and those that an exception or a signal ended, as sentences."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fastdispatch.read.steps import reduced_of
from fastdispatch.text.formats import grouped, spans

#: Ranges of ranks in a sentence.
_LISTED = 16


def missing_from(ranges: Iterable[Sequence[int]], world: int) -> str:
    """Return ``ranks 3, 17-20 of 64 are missing`` for sorted ranges of recorded ranks; ``""`` if none is missing."""
    gaps: list[tuple[int, int]] = []
    following = 0
    for first, last in [*ranges, (world, world)]:
        if following < first <= world:
            gaps.append((following, first - 1))
        following = max(following, last + 1)
    count = sum(last - first + 1 for first, last in gaps)
    if not count:
        return ""
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in gaps]
    more = f" and others, {grouped(count)} in total," if len(texts) > _LISTED else ""
    listed = f"{', '.join(texts[:_LISTED])}{more} of {grouped(world)}"
    return f"rank {listed} is missing" if count == 1 else f"ranks {listed} are missing"


def missing_ranks(ranks: Sequence[Mapping[str, Any]]) -> str:
    """The same for ``trace.ranks``. One rank alone is a choice of the reader: none is missing then."""
    about = reduced_of(ranks)
    if about is not None:
        return missing_from(about["ranks"], about["world"])
    if len(ranks) < 2:
        return ""
    return missing_from([(rank["rank"], rank["rank"]) for rank in ranks], max(rank["world"] for rank in ranks))


def ended_early(ranks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield ``ranks 1, 3 ended with ValueError``, or ``rank 2 was killed``."""
    found: dict[str, list[int]] = {}
    for rank in ranks:
        exception = rank["meta"].get("exception")
        if exception or rank["state"] == "killed":
            found.setdefault(f"ended with {exception}" if exception else "", []).append(rank["rank"])
    for how, numbers in found.items():
        several = len(numbers) > 1
        yield f"rank{'s' * several} {spans(sorted(numbers))} {how or ('were killed' if several else 'was killed')}"
