"""Call sites of a training: forward calls, to which the backward and recomputed work of a call is charged.

Every call path has a pass (forward, backward, recomputed by checkpointing, or optimizer) and a site, a path of the
forward pass::

    Net:forward > Linear:forward > aten::addmm                      forward, its own site
    Tensor:backward > AddmmBackward0 (origin: the path above)       backward, at the path above
    Tensor:backward > AddmmBackward0 > recompute_fn > Linear:forward > aten::addmm
                                                                    recomputed, at the path above
"""

from typing import Literal

from fastdispatch.read.trace import Trace

Pass = Literal["forward", "backward", "recomputed", "optimizer"]

#: Functions of PyTorch that run a checkpointed function, and that run it again.
CHECKPOINTS = ("torch/utils/checkpoint.py:[]:checkpoint", "torch/utils/checkpoint.py:[]:checkpoint_sequential")
RECOMPUTE = "torch/utils/checkpoint.py:[]:recompute_fn"

#: Call of the backward of a reentrant checkpoint: of PyTorch, DeepSpeed and Megatron.
_REENTRANT = ":[CheckpointFunctionBackward]:apply"

#: Bits of a context's flags with its phase, and the phase of the optimizer (docs/formats/recording.md).
_PHASE, _OPTIMIZER = 7, 3

#: Origins of origins that are followed.
_DEEPEST = 64


class CallSites:
    """Pass and site per row of ``trace.contexts``."""

    def __init__(self, trace: Trace) -> None:
        nodes, contexts = trace.nodes, trace.contexts
        keys, kinds = nodes["key"], nodes["kind"]
        self._parents: list[int] = contexts["parent"]
        self._origins: list[int] = contexts["origin"]
        self._names = list(zip(contexts["node"], contexts["module"], strict=True))
        self._autograd = [kinds[node] == "autograd" for node in contexts["node"]]
        self._checkpoints = {row for row, node in enumerate(contexts["node"]) if keys[node] in CHECKPOINTS}
        begins = {
            node: key == RECOMPUTE for node, key in enumerate(keys) if key == RECOMPUTE or key.endswith(_REENTRANT)
        }
        #: Begins of recomputation; true: below an operator of the checkpointed function, false: of the checkpoint.
        self._again = {row: begins[node] for row, node in enumerate(contexts["node"]) if node in begins}
        self._callees: dict[int, list[int]] = {}
        for row, parent in enumerate(self._parents):
            self._callees.setdefault(parent, []).append(row)
        self.passes: list[Pass] = self._passes(contexts["flags"])
        self._sites: dict[int, int] = {-1: -1}

    def site(self, row: int) -> int:
        """Return the site of a path: itself for the forward pass, and for backward work without a forward call."""
        return self._resolve(row, _DEEPEST)

    def _passes(self, flags: list[int]) -> list[Pass]:
        made: list[Pass] = []
        for row, parent in enumerate(self._parents):  # a parent comes before its children
            above: Pass = made[parent] if parent >= 0 else "forward"
            if self._autograd[row]:
                above = "backward"
            elif row in self._again or (above == "backward" and self._names[row][1] >= 0):
                above = "recomputed"  # a module that runs during backward
            elif above in ("forward", "optimizer"):
                above = "optimizer" if flags[row] & _PHASE == _OPTIMIZER else "forward"
            made.append(above)
        return made

    def _resolve(self, row: int, depth: int) -> int:
        waiting = []
        while row not in self._sites:
            waiting.append(row)
            row = self._parents[row]
        for one in reversed(waiting):
            self._sites[one] = one  # for an origin below itself
            self._sites[one] = self._find(one, depth)
            row = one
        return self._sites[row]

    def _find(self, row: int, depth: int) -> int:
        above = self._sites[self._parents[row]]
        if self._autograd[row]:
            origin = self._origins[row]
            return self._resolve(origin, depth - 1) if origin >= 0 and depth > 0 else row
        if self.passes[row] in ("forward", "optimizer") or above < 0:
            return row
        if row in self._again:
            return self._checkpoint_of(above) if self._again[row] else above
        return self._below(above, row) if self.passes[row] == "recomputed" else above

    def _checkpoint_of(self, site: int) -> int:
        """Return the checkpoint around a site, or the site without one."""
        found = site
        while found >= 0 and found not in self._checkpoints:
            found = self._parents[found]
        return found if found >= 0 else site

    def _below(self, site: int, row: int) -> int:
        """Return the callee of a site, or of a callee without a module, that has the same function and module."""
        callees = self._callees.get(site, [])
        nested = [each for callee in callees for each in self._callees.get(callee, []) if self._names[callee][1] < 0]
        return next((each for each in (*callees, *nested) if self._names[each] == self._names[row]), site)
