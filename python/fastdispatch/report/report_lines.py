"""Sentences around the rows of a text report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from fastdispatch.measures.flops import has_flops
from fastdispatch.read.steps import StepTime
from fastdispatch.read.waiting import overload_text, waiting_text
from fastdispatch.report import compiler_text, processes_text
from fastdispatch.report.flops_text import utilization
from fastdispatch.report.report_collectives import collective_lines
from fastdispatch.report.report_facts import Facts, OpenCall, RankFacts, Special, Thread
from fastdispatch.report.report_flops import flop_report
from fastdispatch.report.report_gpu import gpu_lines, gpu_sentence, health_line
from fastdispatch.report.report_rows import Listing
from fastdispatch.text.formats import aligned, counted, grouped, in_flop, seconds, size, spans

if TYPE_CHECKING:
    from fastdispatch.report.report_model import Report

#: Meaning of non-zero counters, after the number.
_DROPPED = {
    "nodes_full": "functions without room for a node, counted in <overflow>",
    "strings_full": "names without room, recorded as empty",
    "modules_full": "modules without room, or without a path because the limit on searches was reached",
    "disk_full": "failed writes, because the disk was full",
    "deep_stack": "calls too deep in the stack to record",
    "unhooked_ns": "ns without Python calls of any thread, because one thread was too deep in its C stack",
    "end_without_start": "operators whose start was not seen",
    "async_lost": "asynchronous operations without an end",
    "hook_lost": "times another tool replaced the evaluator hook",
    "ranges_folded": "range names merged into a pattern",
    "recursion_folded": "recursive paths merged with a path above",
    "threads_full": "threads without room, not recorded",
    "jobs_full": "jobs without room for a record",
    "events_lost": "events without room in the timeline",
    "gpu_captured": "calls without GPU time, because their stream was being captured",
    "gpu_lost": "calls without GPU time, because of no room, another thread or a CUDA error, or lost kernels",
    "gpu_dropped": "GPU intervals whose end was not seen",
    "gpu_shifted": "GPU intervals that seemed to start before their launch, moved to it",
    "gpu_unfinished": "GPU intervals that were unfinished at the end, or launches without a kernel",
    "gpu_events_lost": "GPU intervals and kernels without room in the timeline",
    "op_calls_full": "calls or operands without room in the execution trace",
    "operands_cut": "operands of execution traces that were too long, cut",
    "measures_full": "measurements without room for a record",
    "snapshots_full": "ends of steps without room, at which no steps can be selected",
    "classes_full": "calls recorded without their class, because of no room for classes",
}

_MISSES = {
    "origin_old": "forward call overwritten",
    "origin_none": "no forward call known",
    "origin_thread": "forward thread not recorded",
    "origin_misfit": "names do not fit",
}

_SPECIAL = {
    "asynchronous": "asynchronous, in no total",
    "compiled": "compiled, opaque: inlined calls are not recorded",
    "folded": "folded: calls below imports and compilers, counted together",
    "scripted": "scripted, opaque: only operators are recorded",
    "unseen": "constructors that Python 3.13 enters past the hook, known from their callees (minimum number of calls)",
}

_FIRST = 3  # lines before the findings
_LISTED = 4
_OPEN_SHOWN = 12


def head(report: Report) -> Iterator[str]:
    """Yield the most important lines: the recorded program, doubts about the figures, the time of a step."""
    yield from _first(report)[:_FIRST]
    yield ""


def _first(report: Report) -> list[str]:
    """Return lines by importance; :func:`head` yields the first ones, and the foot the others."""
    facts = report.facts
    who = _ranks(facts.ranks) if facts.reduced is None else _reduced(facts.reduced)
    title = f"{report.path}: {who}{_command(facts.ranks)}"
    sentence = "; ".join(filter(None, [gpu_sentence(facts.gpu) if facts.gpu is not None else "", _utilization(report)]))
    found = ["; ".join(_incomplete(facts.ranks)), sentence, title, facts.missing, _untimed(report), _doubts(facts)]
    if report.timing:
        found += [*(gpu_lines(facts.gpu) if facts.gpu is not None else ()), *_phases(facts)]
    found.append(health_line([entry for entry in report.trace.ranks if report.options.rank in (None, entry["rank"])]))
    return [line for line in [*found, facts.gpu_missing] if line]


def _utilization(report: Report) -> str:
    """Return how much of the GPU the steps use, if FLOPs were measured and its peak is known."""
    if not has_flops(report.trace.ranks):
        return ""
    rank = report.options.rank
    made = flop_report(report.trace, by="operator", rank=rank, sort="total", top=0, hide=False, peak=None)
    return utilization(made) if made.steps else ""


def scale(report: Report) -> Iterator[str]:
    """Yield the meaning of 100 %, and the steps that the figures cover."""
    lines = [*_window(report.facts), *([_whole(report.facts)] if report.timing else [])]
    yield from [*lines, *([""] if lines else [])]


def _incomplete(ranks: Iterable[RankFacts]) -> Iterator[str]:
    for rank in ranks:
        if not rank.complete:
            damage = "; ".join(rank.notes) or "its file was damaged"
            yield f"rank {rank.rank} is incomplete: {damage}; the report covers the rest"


def _untimed(report: Report) -> str:
    ranks = report.facts.ranks
    if report.timing:
        return ""
    if any(rank.timing and not rank.complete for rank in ranks):
        return "no time was found in the readable part"
    if any(rank.timing for rank in ranks):
        return "no time was recorded: nothing ran during the recording"
    return "counts only: recorded without times (timing=False)"


def hidden_line(report: Report) -> Iterator[str]:
    listing = report.listing
    if listing is None:
        return
    small = listing.hidden.small
    names = ", ".join([*list(small)[:3], *(["others"] if len(small) > 3 else [])])
    counts = {f"functions of {names} under 0.1 %": sum(small.values()), "of idle threads": listing.hidden.idle}
    counts["that only forward a call"] = listing.hidden.pass_on
    hidden = ", ".join(f"{grouped(count)} {what}" for what, count in counts.items() if count)
    parts = [f"{grouped(listing.more)} more rows (--top N)"] if listing.more else []
    parts += [f"hidden: {hidden} (--all)"] if hidden else []
    if parts:
        yield "   ".join(parts)
    yield from measured_line(listing)


def measured_line(listing: Listing) -> Iterator[str]:
    """Yield the sums of the measured figures, with their unit."""
    found = listing.measured
    parts = [in_flop(found["flops"])] if "flops" in found else []
    parts += [f"{size(round(found['communicated']))} communicated"] if "communicated" in found else []
    parts = [f"{', '.join(parts)} {'of a step and rank' if listing.by_step else 'of a rank'}"] if parts else []
    if "allocated" in found:
        parts.append(f"{size(round(found['allocated']))} allocated of a rank in the whole recording")
    if parts:
        yield f"measured: {'; '.join(parts)}; backward counts at its forward call"


def foot(report: Report) -> Iterator[str]:
    facts = report.facts
    if report.neighbours is not None and report.neighbours.more:
        yield f"{grouped(report.neighbours.more)} more (--top N)"
    about = [] if report.neighbours is not None else [*_details(report), *_backward(report), *_special(facts)]
    if report.paths is not None and report.paths.more:
        yield f"{grouped(report.paths.more)} more paths (--paths N)"
    others = [*compiler_text.lines(report.compiler), *processes_text.lines(report.processes)]
    lines = [*about, *others, *_missing(facts.ranks), *_open(facts)]
    if lines:
        yield ""
    yield from lines


def _details(report: Report) -> Iterator[str]:
    """Yield the parts of the run, its other threads, and the cost of recording."""
    facts = report.facts
    yield from _first(report)[_FIRST:]
    yield from collective_lines(report.collectives)
    if report.timing:
        yield from _run(facts)
        yield from _activities(report)
        yield from _threads(facts)
    yield _price(facts)


def _ranks(ranks: Sequence[RankFacts]) -> str:
    if not ranks:
        return "no rank recorded"
    numbers = spans(sorted(rank.rank for rank in ranks))
    who = f"rank{'s' * (len(ranks) > 1)} {numbers} of {max(rank.world for rank in ranks)}"
    return f"{who}, {_steps(ranks)}, {_states(ranks)}"


def _reduced(about: Mapping[str, Any]) -> str:
    """Describe the ranks of a sum of ranks."""
    spanned = [str(first) if first == last else f"{first}-{last}" for first, last in about["ranks"]]
    shown = ", ".join([*spanned[:_LISTED], *(["..."] if len(spanned) > _LISTED else [])])
    low, high = about["ended"]
    number = grouped(low) if low == high else f"{grouped(low)} to {grouped(high)}"
    counts = {state: f": {grouped(count)} ranks" for state, (count, _) in about["states"].items()}
    states = [state + (of if len(counts) > 1 else "") for state, of in counts.items()]
    return f"ranks {shown} of {about['world']}, {number} steps, {', '.join(states)}"


def _steps(ranks: Sequence[RankFacts]) -> str:
    rule = next((rank.steps_rule for rank in ranks if rank.steps_source != "none"), "")
    if not rule:
        missing = next((f" ({rank.steps_rule})" for rank in ranks if rank.steps_rule), "")
        few = [rank for rank in ranks if rank.recorded < 0.9 * rank.time_of_run][:1]
        part = "".join(f"; {seconds(rank.recorded)} of {seconds(rank.time_of_run)} are recorded" for rank in few)
        return f"no steps found{missing}{part}"
    low, high = min(rank.steps for rank in ranks), max(rank.steps for rank in ranks)
    number = grouped(low) if low == high else f"{grouped(low)} to {grouped(high)}"
    run = max(rank.steps_of_run for rank in ranks)
    number += f" of {grouped(run)}" if run > high else ""
    return f"{number} step{'' if number == '1' else 's'} ({rule})"


def _states(ranks: Sequence[RankFacts]) -> str:
    found: dict[str, list[int]] = {}
    for rank in ranks:
        state = f"ended with {rank.exception}" if rank.exception else rank.state
        found.setdefault(state, []).append(rank.rank)
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{state}: rank {spans(sorted(numbers))}" for state, numbers in found.items())


def _command(ranks: Sequence[RankFacts]) -> str:
    """Return the program of the run, without interpreter and recorder."""
    words = ranks[0].command[1:] if ranks else []
    script = next((i for i, word in enumerate(words) if word.endswith(".py")), None)
    if script is None:
        return ""
    return "; " + " ".join([os.path.basename(words[script]), *words[script + 1 :]])


def _whole(facts: Facts) -> str:
    whole = f"100 % = {seconds(facts.whole)}: the {facts.whole_role} thread"
    if facts.reduced is not None:
        count = sum(last - first + 1 for first, last in facts.reduced["ranks"])
        whole += f"s of {grouped(count)} ranks"
    if len(facts.ranks) > 1:
        recorded = [rank.recorded for rank in facts.ranks]
        low, high = seconds(min(recorded)), seconds(max(recorded))
        whole = f"100 % = {seconds(facts.whole)}: the {facts.whole_role} threads of {len(facts.ranks)} ranks"
        whole += f", {low} each" if low == high else f", {low} to {high} each"
    main = facts.main_thread
    return whole + (f", {_off_cpu(main)}" if main is not None and main.off_cpu is not None else "")


def _off_cpu(thread: Thread) -> str:
    """Return the share of the time off the CPU; if it is known, that of waiting and that without a core."""
    if not thread.self:
        return "idle"
    if thread.queued is None:
        return f"{100 * (thread.off_cpu or 0) / thread.self:.1f} % of it off the CPU"
    return waiting_text(thread.self, thread.cpu or 0, thread.queued, " of it")


def overload(facts: Facts) -> str:
    """Return a sentence if main threads often had no core."""
    main = facts.main_thread
    return "" if main is None else overload_text(main.self, main.cpu, main.queued)


def _window(facts: Facts) -> Iterator[str]:
    """Say which steps the figures cover."""
    if facts.window is not None:
        yield f"{facts.window.text}; --steps all: the whole recording"
    elif any(rank.steps for rank in facts.ranks):
        why = "" if facts.whole_reason == "requested" else f": {facts.whole_reason}"
        yield f"the whole recording, with start-up and first steps{why}"


def _run(facts: Facts) -> Iterator[str]:
    """Say how the time of the run is divided."""
    kept = [part for part in facts.parts if part.time or part.steps]
    named = [f"{part.name}{f' ({part.steps})' if part.steps else ''} {seconds(part.time)}" for part in kept]
    if named:
        each = ", mean of the ranks" if len(facts.ranks) > 1 else ""
        yield f"run{each}: {', '.join(named)}"


def _activities(report: Report) -> Iterator[str]:
    """Say how much of the covered time evaluation, checkpoint saving and recomputation take, and the number of backward
    passes per step if gradients accumulate."""
    of = report.facts.whole / max(len(report.facts.ranks), 1)
    named = []
    for each in report.activities:
        calls = f"{each.calls:g} call{'s' * (each.calls != 1)}"
        named.append(f"{each.name} {seconds(each.time)} ({100 * each.time / of:.1f} %, {calls})")
    if named:
        yield f"of these steps: {', '.join(named)}"
    if report.backward_passes is not None:
        yield f"gradient accumulation: {report.backward_passes:.3g} backward passes per step"


def _threads(facts: Facts) -> Iterator[str]:
    """Yield a line for each role of busy threads except the main one, and one for all idle threads."""
    others = [thread for thread in facts.threads if thread.role != facts.whole_role]
    busy = [thread for thread in others if not thread.idle]
    idle = [thread for thread in others if thread.idle]
    for thread in busy[:_LISTED]:
        name = f"{thread.role} x {thread.count}" if thread.count > 1 else thread.role
        waits = "" if thread.off_cpu is None else f", {_off_cpu(thread)}"
        yield f"thread {name}: {seconds(thread.self)}{waits}"
    if len(busy) > _LISTED:
        yield f"{len(busy) - _LISTED} more kinds of threads (--json)"
    if idle:
        number = counted(sum(thread.count for thread in idle), "thread")
        roles = ", ".join([*(thread.role for thread in idle[:_LISTED]), *(["..."] if len(idle) > _LISTED else [])])
        yield f"idle, less than 1 % on the CPU: {number} ({roles})"


def _phases(facts: Facts) -> Iterator[str]:
    """Return phases per step if steps were kept, else of the run, and communication as one of them."""
    step = facts.step
    whole = step or facts.whole
    times = [(phase.phase, (phase.per_step if step else phase.self) - phase.communication) for phase in facts.phases]
    times.insert(-1, ("communication", sum(phase.communication for phase in facts.phases)))
    shares = [f"{name} {100 * time / whole:.1f} %" for name, time in times if time > 0]
    detected = any(time for name, time in times if name != "other")
    if step or detected:
        head = f"a step of {seconds(step)}{_spread(facts)}" if step else "phases"
        yield f"{head}: {', '.join(shares)}" if detected else head


def _doubts(facts: Facts) -> str:
    """Return a sentence if the steps are so few, and differ so much, that their median is uncertain, or if the machine
    was overloaded."""
    time = StepTime(facts.step, facts.step_low, facts.step_high, facts.step_count)
    return "; ".join(filter(None, [overload(facts), time.doubt if facts.step else ""]))


def _spread(facts: Facts) -> str:
    low, high = seconds(facts.step_low), seconds(facts.step_high)
    return f" (half of {facts.step_count} steps: {low} to {high})" if facts.step_count > 1 and low != high else ""


def _price(facts: Facts) -> str:
    price = facts.recording_cost.text
    sources = Counter((rank.operators, rank.operators_reason) for rank in facts.ranks)
    seen = "; ".join(f"{source} ({why})" for (source, why), _ in sources.most_common(2))
    named = [(rank.python, rank.torch) for rank in facts.ranks[:1]] or [("", None)]
    versions = ", ".join(f"{name} {of}" for name, of in zip(("Python", "PyTorch"), named[0], strict=True) if of)
    return "; ".join(filter(None, [price, f"operators: {seen}", versions]))


def _backward(report: Report) -> Iterator[str]:
    backward = report.facts.backward
    if backward.autograd <= 0 or not report.timing:
        return
    coverage, near, calls = "", "", ""
    if backward.coverage is not None:
        coverage = f", attributed to forward code: {100 * backward.coverage:.1f} %"
    if backward.near:
        near = f" ({grouped(backward.near)} calls by the nearest number)"
    yield f"backward: {seconds(backward.autograd)} of autograd{coverage}{near}"
    if backward.accumulate:
        time, share = seconds(backward.accumulate), 100 * backward.accumulate / backward.autograd
        if backward.accumulate_calls:
            calls = f", {grouped(backward.accumulate_calls)} calls"
        yield f"  AccumulateGrad, which has no call site: {time}, {share:.1f} % of autograd{calls}"
    if backward.engine:
        yield f"  the engine itself, waiting included: {seconds(backward.engine)}"
    if backward.misses:
        causes = ", ".join(f"{grouped(count)} {_MISSES[name]}" for name, count in backward.misses.items())
        yield f"  without a forward call: {causes}"


def _special(facts: Facts) -> Iterator[str]:
    for what, sentence in _SPECIAL.items():
        found = [special for special in facts.special if special.what == what]
        if found:
            rest = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
            yield f"{sentence}: {', '.join(map(_special_item, found[:_LISTED]))}{rest}"


def _special_item(special: Special) -> str:
    time = f", {seconds(special.time)}" if special.time else ""
    return f"{special.where} ({grouped(special.calls)} calls{time})"


def _missing(ranks: Iterable[RankFacts]) -> Iterator[str]:
    counts: dict[str, dict[int, int]] = {}
    for rank in ranks:
        for name, count in rank.dropped.items():
            counts.setdefault(name, {})[rank.rank] = count
    for name, by_rank in counts.items():
        lost = f"{grouped(sum(by_rank.values()))} {_DROPPED.get(name, name)}"
        yield f"dropped: {lost} (rank {spans(sorted(by_rank))})"
    for rank in ranks:
        yield from (f"rank {rank.rank}: {note}" for note in rank.notes if rank.complete)


def _open(facts: Facts) -> Iterator[str]:
    """Yield the stacks of ranks that did not end normally, the innermost call last."""
    states = {rank.rank: rank.state for rank in facts.ranks}
    stacks: dict[tuple[int, str, int], list[OpenCall]] = {}
    for call in facts.open:
        if states[call.rank] != "stopped":
            stacks.setdefault((call.rank, call.thread, call.thread_id), []).append(call)
    for number, ((rank, thread, _), calls) in enumerate(stacks.items()):
        if number == _LISTED:
            yield f"open calls of {len(stacks) - _LISTED} more threads: --rank N, --json"
            return
        yield f"open calls of rank {rank} ({states[rank]}), thread {thread}, with their time so far:"
        yield from _stack(calls)


def _stack(calls: Sequence[OpenCall]) -> Iterator[str]:
    """Merge consecutive calls of one function, with the time of the outermost."""
    levels = [list(same) for _, same in groupby(calls, key=lambda call: call.where)]
    outer = sum(map(len, levels[:-_OPEN_SHOWN]))
    table = [("", f"({outer} calls further out)")] if outer else []
    for same in levels[-_OPEN_SHOWN:]:
        count = f"   x {len(same)}" if len(same) > 1 else ""
        table.append((seconds(same[0].age) if same[0].age else "", f"{same[0].where}{count}"))
    yield from aligned(table, ">", "  ")
