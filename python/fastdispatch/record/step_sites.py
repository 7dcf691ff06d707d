"""Places from which a program calls its optimizers: which of them belong to one pass of the training loop.

A place is the list of the functions on the stack, outermost first, with the offset of the instruction that each
executes. Two places first differ in one function, where the bytecode decides: whether the later instruction can be
reached from the earlier one without another pass of a loop around both.
"""

import dis
import weakref
from collections.abc import Callable, Sequence
from types import CodeType

#: Relations of csrc/recording/steps/step_rounds.h.
UNKNOWN, SAME, NEXT, NESTED, UNCLEAR, INNER, INDIRECT = range(7)

#: Instructions after which the next one does not run.
_LEAVING = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE", "RAISE_VARARGS", "RERAISE"}
_LEAVING |= {"RETURN_VALUE", "RETURN_CONST"}
_JUMPS = {*dis.hasjrel, *dis.hasjabs}

#: Instructions that may end a pass of a loop. Code without them needs no further look.
_BACKWARD = {code for name, code in dis.opmap.items() if "BACKWARD" in name or name == "JUMP_ABSOLUTE"}

#: Functions in C that call a function several times.
_CALLERS = {"map", "starmap", "reduce"}

#: A function on the stack and the offset of its instruction.
Frame = tuple[CodeType, int]


class Flow:
    """The flow of control of a code object, by offsets of instructions; without exceptions."""

    def __init__(self, code: CodeType) -> None:
        self.after: dict[int, list[int]] = {}
        backward: list[tuple[int, int]] = []
        instructions = list(dis.get_instructions(code))
        for one, following in zip(instructions, [*instructions[1:], None], strict=True):
            after = self.after[one.offset] = []
            if following is not None and one.opname not in _LEAVING:
                after.append(following.offset)
            if one.opcode in _JUMPS:
                after.append(one.argval)
                # JUMP_BACKWARD_NO_INTERRUPT waits for an awaitable: not a loop of the program.
                if one.argval <= one.offset and one.opname != "JUMP_BACKWARD_NO_INTERRUPT":
                    backward.append((one.offset, one.argval))
        self.loops = self._loops(backward)

    def _loops(self, backward: list[tuple[int, int]]) -> dict[int, set[int]]:
        """Return the instructions of each loop, by the offset of its first one."""
        before: dict[int, list[int]] = {}
        for offset, following in self.after.items():
            for one in following:
                before.setdefault(one, []).append(offset)
        loops: dict[int, set[int]] = {}
        for tail, head in backward:
            loops.setdefault(head, {head}).update(_reached([tail], before, {head}))
        return loops

    def instruction(self, offset: int) -> int:
        """Return the offset of the instruction that ``offset`` is a part of."""
        return max((one for one in self.after if one <= offset), default=0)

    def around(self, offset: int) -> list[set[int]]:
        """Return the instructions of the loops around one."""
        return [body for body in self.loops.values() if offset in body]

    def leads(self, start: int, end: int) -> bool:
        """Return whether ``end`` can run after ``start`` without a new pass of the innermost loop around both."""
        both = [head for head, body in self.loops.items() if {start, end} <= body]
        both.sort(key=lambda head: len(self.loops[head]))
        return end in _reached(self.after[start], self.after, {*both[:1]})


def _reached(start: Sequence[int], edges: dict[int, list[int]], barred: set[int]) -> set[int]:
    """Return ``start`` and all that follows it, without ``barred``."""
    found: set[int] = set()
    waiting = [one for one in start if one not in barred]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += [other for other in edges.get(one, []) if other not in barred]
    return found


def _recurs(frames: Sequence[Frame]) -> bool:
    """Return whether a function is open twice: its instructions run again without a loop."""
    return len({code for code, _ in frames}) < len(frames)


def _is_called_directly(frames: Sequence[Frame]) -> bool:
    """Return whether each function of the module has a name in its caller and is open once. Others, such as a lambda
    that ``map`` calls, may run several times without a loop of the program."""
    codes = [code for code, _ in frames]
    modules = [i for i, code in enumerate(codes) if code.co_name == "<module>"]
    codes = codes[max(modules, default=0) :]
    names = [{*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars} for code in codes]
    direct = all(code.co_name in known for code, known in zip(codes[1:], names, strict=False))
    return direct and len(set(codes)) == len(codes) and not any(known & _CALLERS for known in names)


class StepSites:
    """The places of a session. An instance is called with each new one, and returns the relations of all of them as
    bytes, row by row, from the earlier call to the later. ``on_first()`` is called before that."""

    def __init__(self, on_first: Callable[[], object] | None = None) -> None:
        self._on_first = on_first
        self._sites: list[list[tuple[weakref.ref[CodeType], int]]] = []
        self._flows: weakref.WeakKeyDictionary[CodeType, Flow] = weakref.WeakKeyDictionary()

    def __call__(self, frames: Sequence[Frame]) -> bytes:
        if self._on_first is not None and not self._sites:
            self._on_first()
        self._sites.append([(weakref.ref(code), offset) for code, offset in frames])
        count = len(self._sites)
        relations = [[UNKNOWN] * count for _ in range(count)]
        for one in range(count):
            path = self._frames(one) or []
            loops = sum(len(self._loops(frame)) for frame in path)
            if loops:
                relations[one][one] = INNER if loops > 1 else NEXT if _is_called_directly(path) else INDIRECT
            for other in range(one):
                self._relate(relations, one, other)
        return bytes(value for row in relations for value in row)

    def _relate(self, relations: list[list[int]], one: int, other: int) -> None:
        found = self._frames(one), self._frames(other)
        if found[0] is None or found[1] is None:
            return  # a function is gone
        frames = found[0], found[1]
        level = next((i for i, (a, b) in enumerate(zip(*frames, strict=False)) if a != b), None)
        if level is None or frames[0][level][0] is not frames[1][level][0]:
            return
        if any(_recurs(path[level:]) for path in frames):
            return
        flow = self._flow(frames[0][level][0])
        first, second = (flow.instruction(path[level][1]) for path in frames)
        around = [flow.around(first), flow.around(second)]
        inner = [
            any(end not in body for body in loops) or any(map(self._loops, path[level + 1 :]))
            for path, loops, end in zip(frames, around, (second, first), strict=True)
        ]
        if all(inner):
            relations[one][other] = relations[other][one] = UNCLEAR
            return
        relations[one][other] = SAME if flow.leads(first, second) else NEXT
        relations[other][one] = SAME if flow.leads(second, first) else NEXT
        if any(inner) and (any(second in body for body in around[0]) or any(map(self._loops, frames[0][:level]))):
            nested = one if inner[0] else other
            relations[nested][nested] = NESTED

    def _frames(self, site: int) -> list[Frame] | None:
        """Return the frames of a place, ``None`` if a code object is gone."""
        found = [(code(), offset) for code, offset in self._sites[site]]
        kept = [(code, offset) for code, offset in found if code is not None]
        return kept if len(kept) == len(found) else None

    def _flow(self, code: CodeType) -> Flow:
        found = self._flows.get(code)
        if found is None:
            found = self._flows[code] = Flow(code)
        return found

    def _loops(self, frame: Frame) -> list[set[int]]:
        if _BACKWARD.isdisjoint(frame[0].co_code[::2]):
            return []
        flow = self._flow(frame[0])
        return flow.around(flow.instruction(frame[1]))
