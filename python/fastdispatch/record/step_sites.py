"""Places from which a program calls its optimizers: which of them belong to one pass of the training loop.

A place is the list of the functions on the stack, outermost first, with the offset of the instruction that each
executes. Two places first differ in one function, where the bytecode decides: whether the later instruction can be
reached from the earlier one without another pass of a loop around both.
"""

import dis
import re
import weakref
from bisect import bisect_right
from collections.abc import Callable, Sequence
from types import CodeType

#: Relations of csrc/recording/steps/step_rounds.h.
UNKNOWN, SAME, NEXT, NESTED, UNCLEAR, INNER, INDIRECT = range(7)

_JUMPS = {opcode for opcode in dis.hasjrel if opcode < 256}
_BACKWARD = {opcode for opcode in _JUMPS if "BACKWARD" in dis.opname[opcode]}

#: Instructions after which the next one does not run.
_LEAVING = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "RAISE_VARARGS", "RERAISE"}
_LEAVING |= {"RETURN_VALUE", "RETURN_CONST"}
_LEAVES = {dis.opmap[name] for name in _LEAVING & dis.opmap.keys()}

#: A jump that waits for an awaitable: not a loop of the program.
_WAITS = dis.opmap["JUMP_BACKWARD_NO_INTERRUPT"]

#: The ends of blocks, among the opcodes of a function.
_END = re.compile(b"[" + re.escape(bytes(sorted(_JUMPS | _LEAVES))) + b"]", re.DOTALL)

#: Functions in C that call a function several times.
_CALLERS = {"map", "starmap", "reduce"}

#: A function on the stack and the offset of its instruction.
Frame = tuple[CodeType, int]


class Flow:
    """The flow of control of a code object, without exceptions: blocks of instructions, which run one after the other,
    by the index of their first code unit (two bytes). Functions of thousands of instructions are usual, therefore only
    the ends of blocks are decoded."""

    def __init__(self, code: CodeType) -> None:
        units = code.co_code
        ends = [_end_of_block(units, found.start()) for found in _END.finditer(units[::2])]
        starts = {0, *(target for _, _, target in ends if target >= 0), *(following for _, following, _ in ends)}
        self.starts = sorted(starts)
        self.after: dict[int, list[int]] = {
            start: [following] for start, following in zip(self.starts, self.starts[1:], strict=False)
        }
        self.after[self.starts[-1]] = []
        backward: list[tuple[int, int]] = []
        for at, following, target in ends:
            block = self.block(2 * at)
            self.after[block] = [] if units[2 * at] in _LEAVES else [following]
            if target >= 0:
                self.after[block].append(target)
                if target <= at and units[2 * at] != _WAITS:
                    backward.append((block, target))
        self.loops = self._loops(backward)

    def _loops(self, backward: list[tuple[int, int]]) -> dict[int, set[int]]:
        """Return the blocks of each loop, by the first one."""
        before: dict[int, list[int]] = {}
        for block, after in self.after.items():
            for one in after:
                before.setdefault(one, []).append(block)
        loops: dict[int, set[int]] = {}
        for tail, head in backward:
            body = _reached([tail], before, {head})
            # A handler of exceptions, which nothing leads to here, may jump back: not a loop.
            whole = tail == head or any(head in before.get(block, []) for block in body)
            loops.setdefault(head, set()).update(body, {head} if whole else ())
        return loops

    def block(self, offset: int) -> int:
        """Return the block of an instruction."""
        return self.starts[bisect_right(self.starts, offset // 2) - 1]

    def around(self, offset: int) -> list[set[int]]:
        """Return the blocks of the loops around an instruction."""
        block = self.block(offset)
        return [body for body in self.loops.values() if block in body]

    def leads(self, start: int, end: int) -> bool:
        """Return whether the instruction ``end`` can run after ``start`` without a new pass of the innermost loop
        around both."""
        first, last = self.block(start), self.block(end)
        if first == last and start < end:
            return True
        both = [head for head, body in self.loops.items() if {first, last} <= body]
        both.sort(key=lambda head: len(self.loops[head]))
        return last in _reached(self.after[first], self.after, {*both[:1]})


def _end_of_block(units: bytes, at: int) -> tuple[int, int, int]:
    """Return the indices of an instruction that ends a block, of the next one, and of that to which it jumps (-1:
    none)."""
    following = at + 1
    while 2 * following < len(units) and units[2 * following] == 0:  # room for caches of the interpreter
        following += 1
    if units[2 * at] not in _JUMPS:
        return at, following, -1
    argument, extended = units[2 * at + 1], at - 1
    while extended >= 0 and units[2 * extended] == dis.EXTENDED_ARG:
        argument |= units[2 * extended + 1] << 8 * (at - extended)
        extended -= 1
    return at, following, following + (-argument if units[2 * at] in _BACKWARD else argument)


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
        first, second = (path[level][1] for path in frames)
        around = [flow.around(first), flow.around(second)]
        inner = [
            any(flow.block(end) not in body for body in loops) or any(map(self._loops, path[level + 1 :]))
            for path, loops, end in zip(frames, around, (second, first), strict=True)
        ]
        if all(inner):
            relations[one][other] = relations[other][one] = UNCLEAR
            return
        relations[one][other] = SAME if flow.leads(first, second) else NEXT
        relations[other][one] = SAME if flow.leads(second, first) else NEXT
        together = any(flow.block(second) in body for body in around[0])
        if any(inner) and (together or any(map(self._loops, frames[0][:level]))):
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
        return self._flow(frame[0]).around(frame[1])
