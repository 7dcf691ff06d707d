"""The jobs of each stage of a pipeline schedule in order, from its name and three numbers, without an engine.

A stage is one process of the pipeline. Interleaved and V-shaped schedules give each several chunks of the model, which
are numbered along the model as global stages; with 4 stages and 2 chunks

    interleaved   stage  0 1 2 3 0 1 2 3      zb-v   0 1 2 3 3 2 1 0
    global stage         0 1 2 3 4 5 6 7             0 1 2 3 4 5 6 7

so that the chunk of a global stage is always global // stages.
"""

from collections.abc import Callable, Iterator

from fastdispatch._core import Error

#: The kinds of jobs, by their numbers.
KINDS = ("LM", "F", "B", "I", "W", "SA", "RA", "SG", "RG", "RT", "RD", "OPT")
LM, F, B, I, W, SA, RA, SG, RG, RT, RD, OPT = range(12)  # noqa: E741

#: How engines wait for blocking transfers: for one at a time, for all between two computations together, or never.
EACH, TOGETHER, NEVER = range(3)

#: Kind, step of the stage, micro-batch, buffer, global stage, and the global stage at the other end of a transfer; -1:
#: no such number.
PlanJob = tuple[int, int, int, int, int, int]
#: Kind, global stage, micro-batch.
_Computation = tuple[int, int, int]

#: Limit of jobs, and of the steps of all stages together.
_MOST = 1 << 24
_MOST_CHUNKS = 32767


class Orders:
    """A plan: its numbers, and the jobs of each stage. ``chunks`` and ``group`` 0: the default of the schedule. Raises
    :class:`fastdispatch.Error` for plans that no engine runs."""

    def __init__(self, schedule: str, stages: int, micro_batches: int, chunks: int = 0, group: int = 0) -> None:
        if not stages or not micro_batches:
            both = f"{stages} and {micro_batches}"
            raise Error(f"a pipeline has at least one stage and one micro-batch, not {both}")
        self.schedule, self.stages, self.micro_batches = schedule, stages, micro_batches
        self.waiting, self._fill, steps = _SCHEDULES[schedule]
        self.chunks = self._checked(chunks)
        self.globals = stages * self.chunks
        #: Steps of every stage; some may be empty.
        self.steps = steps(self)
        # At most 7 jobs per micro-batch and global stage, and 3 at the end.
        if self.globals > _MOST_CHUNKS or max(7 * self.globals * micro_batches, stages * self.steps) > _MOST:
            raise Error(
                f"{stages} stages of {self.chunks} chunks with {micro_batches} micro-batches are too many: at most"
                f" {_MOST_CHUNKS} chunks, and {_MOST} jobs and steps"
            )
        #: Consecutive micro-batches on a chunk.
        self.group = _group(self, group)

    def _checked(self, chunks: int) -> int:
        if self.schedule == "interleaved":
            if chunks < 2:
                raise Error("interleaved needs at least 2 chunks per stage")
            return chunks
        required = 2 if self.schedule == "zb-v" else 1
        if chunks > required:
            plural = "s" if required > 1 else ""
            raise Error(f"{self.schedule} has {required} chunk{plural} per stage, not {chunks}")
        return required  # engines without chunks state 1

    def holder(self, stage: int) -> int:
        """Return the stage that has a global stage."""
        place = stage % self.stages
        return self.stages - 1 - place if self.schedule == "zb-v" and stage >= self.stages else place

    def jobs(self, place: int) -> list[PlanJob]:
        """Return the jobs of a stage in order."""
        return self._fill(self, place)

    def _with_transfers(self, place: int, computations: Iterator[_Computation]) -> list[PlanJob]:
        """Return the computations as steps, each between the receive of its input and the send of its output."""
        made: list[PlanJob] = []
        own = {stage for stage in range(self.globals) if self.holder(stage) == place}
        others = {stage for mine in own for stage in (mine - 1, mine + 1) if 0 <= stage < self.globals} - own
        for step, (kind, stage, mb) in enumerate(computations):
            source, to = (stage - 1, stage + 1) if kind == F else (stage + 1, stage - 1)
            if kind != W and source in others:
                made.append((RA if kind == F else RG, step, mb, -1, stage, source))
            made.append((kind, step, mb, -1, stage, -1))
            if kind != W and to in others:
                made.append((SA if kind == F else SG, step, mb, -1, stage, to))
        return made


def in_flight(jobs: list[PlanJob]) -> int:
    """Return the maximum number of forward passes of a stage, over its chunks, before their backward pass (W if
    separate): their activations are in memory. 0 without backward passes."""
    now = most = 0
    backward = False
    for job in jobs:
        if job[0] == F:
            now += 1
            most = max(most, now)
        elif job[0] in (B, W):
            now -= 1
            backward = True
    return most if backward else 0


def buffers(orders: Orders, place: int, flight: int) -> int:
    """Return DeepSpeed's ``num_pipe_buffers`` of a stage; of others the peak of micro-batches in flight."""
    match orders.schedule:
        case "deepspeed-train":
            return max(2, min(orders.stages - place, orders.micro_batches))
        case "deepspeed-inference":
            return 2
        case "deepspeed-dp":
            return 1
    return flight


def _group(orders: Orders, group: int) -> int:
    """Return the size of groups. Megatron requires at least ``stages``, the default; PyTorch divides the micro-batches
    by the number of complete rounds. Both are equal where both are valid."""
    stages, count = orders.stages, orders.micro_batches
    if orders.schedule != "interleaved":
        if group:
            raise Error(f"{orders.schedule} has no groups of micro-batches; interleaved has")
        return count
    if not group:
        rounds = max(count // stages, 1)
        if count % rounds:
            raise Error(
                f"interleaved: {count} micro-batches are not a multiple of the {rounds} rounds that {stages} stages"
                f" make of them; give a multiple of {stages}, or a group"
            )
        return count // rounds
    if not stages <= group <= count:
        raise Error(
            f"interleaved: a group has at least as many micro-batches as there are stages ({stages}) and at most all"
            f" ({count}), not {group}"
        )
    if 0 < count % group < stages:
        raise Error(
            f"interleaved: the last group would have {count % group} micro-batches, less than the {stages} stages"
        )
    return group


# DeepSpeed's runtime/pipe/schedule.py, the same since 0.8.3. In a training step t of stage s, F(m) is at t = 2m + s and
# B(m) at t = 2m + 2S - 1 - s; the two never share a step.


def train_step(orders: Orders, place: int, step: int) -> tuple[int, bool]:
    """Return the micro-batch of a step of DeepSpeed's ``TrainSchedule``, out of range if the step computes nothing, and
    whether it is a forward pass."""
    if (step + place) % 2 == 0:
        return (step - place) // 2, True
    return (step + place + 1) // 2 - orders.stages, False


def _loads_data(orders: Orders, place: int) -> bool:
    """Return whether a stage reads data: only the first and last one do, inputs and labels."""
    return place in (0, orders.stages - 1)


def _deepspeed_train(orders: Orders, place: int) -> list[PlanJob]:
    made: list[PlanJob] = []
    count, size = orders.micro_batches, buffers(orders, place, 0)
    peers = {SG: place - 1, RA: place - 1, SA: place + 1, RG: place + 1}
    missing = {kind for kind, peer in peers.items() if not 0 <= peer < orders.stages}
    missing |= set() if _loads_data(orders, place) else {LM}
    before = -1
    for step in range(orders.steps):
        mb, forward = train_step(orders, place, step)
        kinds = ((SG, before), (RA, mb), (LM, mb), (F, mb)) if forward else ((RG, mb), (SA, before), (B, mb))
        for kind, of in kinds:
            if 0 <= of < count and kind not in missing:
                made.append((kind, step, of, of % size, place, peers.get(kind, -1)))
        before = mb
    return made + [(kind, orders.steps - 1, -1, -1, place, -1) for kind in (RT, RD, OPT)]


def _deepspeed_inference(orders: Orders, place: int) -> list[PlanJob]:
    """Use one of two buffers for computing while the other is sent. The parity of the stage determines the buffer, and
    which of two neighbours sends first."""
    made: list[PlanJob] = []
    count = orders.micro_batches
    for step in range(orders.steps):
        mb, own = step - place, (step + place) % 2
        computes = 0 <= mb < count
        receive = [(RA, step, mb, own, place, place - 1)] if computes and place else []
        sends = 1 <= mb <= count and place + 1 < orders.stages
        send = [(SA, step, mb - 1, 1 - own, place, place + 1)] if sends else []
        if computes and _loads_data(orders, place):
            made.append((LM, step, mb, own, place, -1))
        made += send + receive if place % 2 == 0 else receive + send
        if computes:
            made.append((F, step, mb, own, place, -1))
    return made


def _deepspeed_dp(orders: Orders, place: int) -> list[PlanJob]:
    made = [(kind, step, step, 0, place, -1) for step in range(orders.steps) for kind in (LM, F, B)]
    return made + [(kind, orders.steps - 1, -1, -1, place, -1) for kind in (RD, OPT)]


def _gpipe(orders: Orders, place: int) -> list[PlanJob]:
    order = ((kind, place, mb) for kind in (F, B) for mb in range(orders.micro_batches))
    return orders._with_transfers(place, order)


def _kth(orders: Orders, kind: int, place: int, k: int) -> _Computation:
    """Return the k-th forward or backward pass of a stage. Each group of micro-batches goes through all chunks before
    the next group begins."""
    base = k // (orders.group * orders.chunks) * orders.group
    chunk, mb = divmod(k - base * orders.chunks, min(orders.group, orders.micro_batches - base))
    chunk = orders.chunks - 1 - chunk if kind == B else chunk
    return kind, chunk * orders.stages + place, base + mb


def _one_by_one(orders: Orders, place: int) -> list[PlanJob]:
    """1F1B as Megatron and PyTorch have it, and Megatron's interleaved 1F1B: forward passes until the pipeline is
    filled, then a backward pass after each further forward pass, then the remaining backward passes."""
    count = orders.micro_batches * orders.chunks
    later = orders.stages - place - 1
    warmup = min(later if orders.chunks == 1 else 2 * later + (orders.chunks - 1) * orders.group, count)

    def order() -> Iterator[_Computation]:
        for i in range(count + warmup):
            if i < count:
                yield _kth(orders, F, place, i)
            if i >= warmup:
                yield _kth(orders, B, place, i - warmup)

    return orders._with_transfers(place, order())


def _zb_h1(orders: Orders, place: int) -> list[PlanJob]:
    """1F1B, except that stage s executes W only s passes after its I (arXiv 2401.10241, 3.1): every stage then needs as
    much memory as the first. The idle time of each is (S - 1)(F + I - W)."""
    count = orders.micro_batches
    begins = {F: 0, I: min(orders.stages - place - 1, count)}
    begins[W] = begins[I] + min(place, count)
    passes = ((kind, place, i - begin) for i in range(count + begins[W]) for kind, begin in begins.items())
    return orders._with_transfers(place, (each for each in passes if 0 <= each[2] < count))


def _zb_v(orders: Orders, place: int) -> list[PlanJob]:
    """ZB-V in PyTorch's order. The pipeline is filled with at least 2S - 1 micro-batches; missing ones leave a gap."""
    stages, count = orders.stages, max(orders.micro_batches, 2 * orders.stages - 1)
    stage = place, 2 * stages - 1 - place
    done = {kind: [0, 0] for kind in (F, I, W)}

    def run(*passes: tuple[int, int]) -> Iterator[_Computation]:
        for kind, chunk in passes:
            mb = done[kind][chunk]
            done[kind][chunk] += 1
            if mb < orders.micro_batches:
                yield kind, stage[chunk], mb

    def order() -> Iterator[_Computation]:
        for _ in range(2 * (stages - place) - 1):
            yield from run((F, 0))
        for _ in range(place):
            yield from run((F, 1), (F, 0))
        for _ in range(stages - place):
            yield from run((F, 1), (I, 1), (W, 1))
        while done[F][1] < done[F][0] or done[F][0] < count:
            if done[F][0] < count:
                yield from run((F, 0))
            yield from run((I, 0), (W, 0), (F, 1), (I, 1), (W, 1))
        for _ in range(place):
            yield from run((I, 0), (I, 1))
        for _ in range(stages - place):
            yield from run((I, 0), (W, 0))
        for chunk in (1, 0):
            while done[W][chunk] < done[I][chunk]:
                yield from run((W, chunk))

    return orders._with_transfers(place, order())


_Fill = Callable[[Orders, int], list[PlanJob]]
_Steps = Callable[[Orders], int]


def _passes(orders: Orders) -> int:
    return 2 * orders.micro_batches * orders.chunks


def _split_passes(orders: Orders) -> int:
    return 3 * orders.micro_batches * orders.chunks


def _ticks(orders: Orders) -> int:
    return orders.micro_batches + orders.stages - 1


_SCHEDULES: dict[str, tuple[int, _Fill, _Steps]] = {
    "deepspeed-train": (EACH, _deepspeed_train, lambda orders: 2 * _ticks(orders)),
    "deepspeed-inference": (EACH, _deepspeed_inference, _ticks),
    "deepspeed-dp": (EACH, _deepspeed_dp, lambda orders: orders.micro_batches),
    "gpipe": (TOGETHER, _gpipe, _passes),
    "1f1b": (TOGETHER, _one_by_one, _passes),
    "interleaved": (NEVER, _one_by_one, _passes),
    "zb-h1": (TOGETHER, _zb_h1, _split_passes),
    "zb-v": (NEVER, _zb_v, _split_passes),
}
SCHEDULES = tuple(_SCHEDULES)
