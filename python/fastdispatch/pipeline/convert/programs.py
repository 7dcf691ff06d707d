"""Texts of the programs that train a package with one rank per stage (torch.distributed.pipelining, DeepSpeed).

``$name`` is filled in. The programs are to be read and edited: data and loss are examples.
"""

from string import Template

#: carry.py: both engines pass values between neighbouring stages only.
CARRY = Template('''\
"""Values passed between neighbouring stages: all that a later stage needs."""

import copy

import torch

#: Per stage: received values, inputs of its module, outputs of its module, values passed on.
STAGES = ($stages)


class Carrier(torch.nn.Module):
    """A stage that passes on values for later stages.

    All values of one type travel as one flat tensor: then a stage has one gradient to wait for and runs backward
    once, as the whole model does, and adds up the same numbers in the same order. ``incoming``: one (shape, dtype) per
    value; the first stage has the inputs of the model.
    """

    def __init__(self, number, stage, incoming=None):
        super().__init__()
        self.stage = stage
        self.incoming = incoming
        self.given, self.reads, self.makes, self.hands = STAGES[number]
        self.last = number == len(STAGES) - 1

    def forward(self, *values):
        known = dict(zip(self.given, values if self.incoming is None else unpack(values, self.incoming)))
        result = self.stage(*(known[name] for name in self.reads))
        known.update(zip(self.makes, result if len(self.makes) > 1 else (result,)))
        handed = tuple(known[name] for name in self.hands)
        self.outgoing = [(tuple(each.shape), each.dtype) for each in handed]
        handed = handed if self.last else pack(handed)
        return handed[0] if len(handed) == 1 else handed


def carried(dtype):
    """Engines do not send bool."""
    return torch.uint8 if dtype == torch.bool else dtype


def pack(values):
    flat = {}
    for value in values:
        flat.setdefault(carried(value.dtype), []).append(value.reshape(-1).to(carried(value.dtype)))
    return tuple(torch.cat(each) for each in flat.values())


def unpack(packed, layout):
    sizes = {}
    for shape, dtype in layout:
        sizes.setdefault(carried(dtype), []).append(torch.Size(shape).numel())
    parts = {dtype: iter(each.split(sizes[dtype])) for dtype, each in zip(sizes, packed)}
    return tuple(next(parts[carried(dtype)]).view(shape).to(dtype) for shape, dtype in layout)


def carriers(model, inputs):
    """A carrier for each stage, and what it takes and gives: all stages are run once, on copies."""
    found, taken, values, incoming = [], [], tuple(inputs), None
    with torch.random.fork_rng(devices=[]):
        for number in range(len(STAGES)):
            stage = getattr(model, f"stage{number}")
            copied = Carrier(number, copy.deepcopy(stage), incoming)
            result = copied(*values)
            result = result if isinstance(result, tuple) else (result,)
            taken.append((values, result))
            found.append(Carrier(number, stage, incoming))
            values = tuple(each.detach().requires_grad_(each.requires_grad) for each in result)
            incoming = copied.outgoing
    return found, taken


def shared_parameters(stages, shared):
    """Of each parameter with several places: the stages it lies in, and the parameter in the first."""
    found = []
    for places in shared:
        numbers = sorted({number for number, _ in places})
        home, name = places[0]
        named = dict(stages[home].named_parameters(remove_duplicate=False))
        same = [each for path, each in named.items() if path == name or path.startswith(f"{name}.")]
        found += [(numbers, each) for each in same if len(numbers) > 1]
    return found
''')

#: train.py up to the engine's part.
_HEAD = '''\
"""Train $name on a rank for each replica of each stage, in the folder above this package:

    torchrun --nproc-per-node $count -m $package.$program --check

Edit batch() and loss(): both are examples.
"""

import argparse
import copy
import math

import torch
import torch.distributed as dist
$imports

from . import full_model
from .carry import STAGES, carriers, shared_parameters
from .weights import SHARED

#: Of each input of one micro-batch: shape, dtype, end of integers, dimension along which micro-batches lie.
INPUTS = ($inputs)
#: Ranks of each stage, which share its micro-batches: first those of stage 0, then those of stage 1 ...
REPLICAS = ($replicas)
#: Each goes through one replica of each stage and has its own micro-batches; pipeline 5 through the third of three.
PIPELINES = math.lcm(*REPLICAS)


def batch(step, micro_batches):
    """Inputs of all micro-batches, and a target for each, the same on all ranks."""
    generator = torch.Generator().manual_seed(step)
    inputs = []
    for shape, dtype, end, dim in INPUTS:
        shape = [size * micro_batches if at == dim else size for at, size in enumerate(shape)]
        floating = getattr(torch, dtype).is_floating_point
        value = torch.randn(shape, generator=generator) if floating else torch.randint(end, shape, generator=generator)
        inputs.append(value.to(getattr(torch, dtype)))
    return inputs, torch.rand(micro_batches, generator=generator)


def loss(output, target):
    """Of one micro-batch. ``output``: the result of the model, a tuple for several values."""
    values = output if isinstance(output, tuple) else (output,)
    return sum((each - target.view(-1)[0]).square().mean() for each in values if each.is_floating_point())


def micro_batches_of(inputs, target, count):
    """(inputs, target) of each micro-batch."""
    chunks = [value.chunk(count, dim) for value, (_, _, _, dim) in zip(inputs, INPUTS)]
    return [(tuple(chunk[at] for chunk in chunks), target[at : at + 1]) for at in range(count)]


def unsplit(model, optimizer, inputs, target, count):
    """One step of the model as it was, on one rank: the mean loss. Gradients are added up as ranks add them: those of
    one replica, then those of all."""
    partial, losses = {}, []
    own = count // PIPELINES
    for at, (given, targets) in enumerate(micro_batches_of(inputs, target, count)):
        optimizer.zero_grad()
        each = loss(model(*given), targets)
        $unsplit_backward
        losses.append(each.detach())
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                replicas = partial.setdefault(name, {})
                replica = at // own % REPLICAS[int(name.split(".")[0].removeprefix("stage"))]
                replicas[replica] = replicas[replica] + parameter.grad if replica in replicas else parameter.grad
    for name, parameter in model.named_parameters():
        parts = [each for _, each in sorted(partial.get(name, {}).items())]
        parameter.grad = sum(parts[1:], parts[0]) if parts else None
    $unsplit_scale
    optimizer.step()
    return mean([losses[first : first + own] for first in range(0, count, own)])


def mean(losses):
    """Of the losses of each pipeline."""
    means = [sum(each[1:], each[0]) / len(each) for each in losses]
    return (sum(means[1:], means[0]) / len(means)).item()


def place_of(rank):
    """The stage of a rank, and which of its replicas it is."""
    stage = next(stage for stage in range(len(REPLICAS)) if rank < sum(REPLICAS[: stage + 1]))
    return stage, rank - sum(REPLICAS[:stage])


def ranks_of(pipeline):
    return [sum(REPLICAS[:stage]) + pipeline % count for stage, count in enumerate(REPLICAS)]


def check_ranks(micro_batches):
    if dist.get_world_size() != sum(REPLICAS):
        raise SystemExit(f"{dist.get_world_size()} ranks: torchrun --nproc-per-node {sum(REPLICAS)}")
    if micro_batches % PIPELINES:
        raise SystemExit(f"--micro-batches {micro_batches}: a multiple of {PIPELINES}")


def without_dropout(model):
    """Ranks draw other random numbers than one process does."""
    for module in model.modules():
        if isinstance(module, torch.nn.modules.dropout._DropoutNd):
            module.p = 0.0
        if isinstance(module, torch.nn.RNNBase):
            module.dropout = 0.0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--micro-batches", type=int, default=$micro_batches, help="of all replicas")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--check", action="store_true", help="train the unsplit model too: the losses must be equal")
    $options
    return parser.parse_args()


def report(step, value, whole):
    """On the last rank: the loss of a step, and whether it is that of the unsplit model."""
    if whole is None:
        print(f"step {step}: loss {value!r}", flush=True)
        return True
    equal = value == whole
    print(f"step {step}: loss {value!r}, unsplit {whole!r}: {'equal' if equal else 'DIFFERENT'}", flush=True)
    return equal

'''

TORCH = Template(
    _HEAD
    + '''
#: Where torch's own pipeline() would cut the model, traced: before these.
SPLIT_POINTS = ($split_points)


class Groups:
    """Process groups: each pipeline, and the replicas of each stage."""

    def __init__(self):
        self.stage, self.replica = place_of(dist.get_rank())
        groups = [dist.new_group(ranks_of(each)) for each in range(PIPELINES)]
        #: The pipelines that go through this rank, in the order in which it runs them.
        self.own = {each: groups[each] for each in range(PIPELINES) if dist.get_rank() in ranks_of(each)}
        first = [sum(REPLICAS[:stage]) for stage in range(len(REPLICAS))]
        self.replicas = [dist.new_group([*range(at, at + count)]) for at, count in zip(first, REPLICAS)][self.stage]

    def gathered(self, value):
        """A tensor of each replica of this stage, in their order."""
        found = [torch.empty_like(value) for _ in range(REPLICAS[self.stage])]
        dist.all_gather(found, value.contiguous(), group=self.replicas)
        return found


def add_up(model, groups, micro_batches, in_order):
    """Gradients of all replicas, and of parameters that lie in several stages; the mean over micro-batches.
    ``in_order``: of replicas, so that sums are those of one process in every bit."""
    own = getattr(model, f"stage{groups.stage}")
    for parameter in own.parameters() if REPLICAS[groups.stage] > 1 else ():
        if parameter.requires_grad:
            gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            if in_order:
                parts = groups.gathered(gradient)
                parameter.grad = sum(parts[1:], parts[0])
            else:
                dist.all_reduce(gradient, group=groups.replicas)
                parameter.grad = gradient
    add_shared(model, groups)
    for parameter in own.parameters():
        if parameter.grad is not None:
            parameter.grad.div_(micro_batches)


def add_shared(model, groups):
    stages = [getattr(model, f"stage{number}") for number in range(len(STAGES))]
    for numbers, parameter in shared_parameters(stages, SHARED):
        gradient = parameter.grad
        if groups.stage not in numbers or gradient is None:
            gradient = torch.zeros_like(parameter)
        for group in groups.own.values():
            total = gradient.clone()
            dist.all_reduce(total, group=group)
            if groups.stage in numbers:
                parameter.grad = total


def train(given, groups, schedules, inputs, target):
    """All micro-batches, one pipeline after the other: on the last stage their losses by pipeline."""
    own = given.micro_batches // PIPELINES
    losses = {}
    for pipeline, schedule in schedules.items():
        losses[pipeline] = []
        if groups.stage == 0:
            schedule.step(*(each.chunk(PIPELINES, dim)[pipeline] for each, (_, _, _, dim) in zip(inputs, INPUTS)))
        elif groups.stage == len(STAGES) - 1:
            targets = target[pipeline * own : (pipeline + 1) * own]
            schedule.step(target=targets, losses=losses[pipeline], return_outputs=False)
        else:
            schedule.step()
    return losses


def mean_of_all(groups, losses):
    """On the last stage: the mean loss of all pipelines."""
    rows = groups.gathered(torch.stack([torch.stack(each) for each in losses.values()]))
    return mean([[*rows[at % len(rows)][at // len(rows)]] for at in range(PIPELINES)])


def main():
    given = arguments()
    dist.init_process_group("gloo")
    check_ranks(given.micro_batches)
    groups = Groups()
    last = dist.get_rank() == dist.get_world_size() - 1
    torch.manual_seed(0)
    model = full_model()
    if given.check:
        without_dropout(model)
    whole = copy.deepcopy(model) if given.check and last else None
    reference = torch.optim.SGD(whole.parameters(), lr=given.lr) if whole else None
    own = getattr(model, f"stage{groups.stage}")
    first = micro_batches_of(*batch(0, given.micro_batches), given.micro_batches)[0][0]
    found, taken = carriers(model, first)
    schedules = {}
    for pipeline, group in groups.own.items():
        module, number = found[groups.stage], groups.stage
        stage = PipelineStage(module, number, len(STAGES), torch.device("cpu"), *taken[number], group=group)
        schedules[pipeline] = SCHEDULES[given.schedule](
            stage,
            given.micro_batches // PIPELINES,
            loss_fn=loss,
            args_chunk_spec=tuple(TensorChunkSpec(dim) for _, _, _, dim in INPUTS) if number == 0 else None,
            scale_grads=False,
        )
    optimizer = torch.optim.SGD(own.parameters(), lr=given.lr)
    equal = True
    for step in range(given.steps):
        inputs, target = batch(step, given.micro_batches)
        optimizer.zero_grad()
        losses = train(given, groups, schedules, inputs, target)
        add_up(model, groups, given.micro_batches, given.check)
        optimizer.step()
        value = mean_of_all(groups, losses) if groups.stage == len(STAGES) - 1 else None
        if last:
            expected = unsplit(whole, reference, inputs, target, given.micro_batches) if whole else None
            equal = report(step, value, expected) and equal
    dist.destroy_process_group()
    raise SystemExit(0 if equal else 1)


SCHEDULES = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B}

if __name__ == "__main__":
    main()
'''
)

DEEPSPEED = Template(
    _HEAD
    + '''
class Layer(torch.nn.Module):
    """A stage as a layer of a PipelineModule, which has one argument."""

    def __init__(self, carrier):
        super().__init__()
        self.carrier = carrier

    def forward(self, values):
        return self.carrier(*(values if isinstance(values, tuple) else (values,)))


class Pipeline(PipelineModule):
    """One layer per stage. All ranks make the whole model, so that its weights are those of one process."""

    def __init__(self, model, found):
        self._model = [model]
        self._groups = {}
        specs = [LayerSpec(Layer, each) for each in found]
        super().__init__(specs, num_stages=len(STAGES), loss_fn=loss, partition_method="uniform")

    def get_tied_weights_and_groups(self):
        """Gradients of these are added up among those ranks, one of each stage; replicas of a stage come later."""
        stages = [getattr(self._model[0], f"stage{number}") for number in range(len(STAGES))]
        stage, replica = place_of(dist.get_rank())
        found = []
        for numbers, parameter in shared_parameters(stages, SHARED):
            for each in range(PIPELINES):
                key = tuple(ranks_of(each)[number] for number in numbers)
                if key not in self._groups:
                    self._groups[key] = dist.new_group(key)
            if stage in numbers:
                if parameter.grad is None:  # the others wait for it
                    parameter.grad = torch.zeros_like(parameter)
                found.append((parameter, self._groups[tuple(ranks_of(replica)[number] for number in numbers)]))
        return found


def main():
    given = arguments()
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled first
    deepspeed.init_distributed(dist_backend="gloo", verbose=False)
    check_ranks(given.micro_batches)
    replica = place_of(dist.get_rank())[1]
    last = dist.get_rank() == dist.get_world_size() - 1
    own_batches = given.micro_batches // PIPELINES
    torch.manual_seed(0)
    model = full_model()
    if given.check:
        without_dropout(model)
    whole = copy.deepcopy(model) if given.check and last else None
    reference = torch.optim.SGD(whole.parameters(), lr=given.lr) if whole else None
    first = micro_batches_of(*batch(0, given.micro_batches), given.micro_batches)[0][0]
    net = Pipeline(model, carriers(model, first)[0])
    own = [each for each in net.parameters() if each.requires_grad] or [torch.nn.Parameter(torch.zeros(1))]
    engine, _, _, _ = deepspeed.initialize(
        model=net,
        optimizer=torch.optim.SGD(own, lr=given.lr),
        config={
            "train_micro_batch_size_per_gpu": 1,
            "gradient_accumulation_steps": own_batches,
            "steps_per_print": 1 << 30,
        },
    )
    equal = True
    for step in range(given.steps):
        inputs, target = batch(step, given.micro_batches)
        rows = micro_batches_of(inputs, target, given.micro_batches)
        rows = [(each if len(each) > 1 else each[0], targets) for each, targets in rows]
        value = engine.train_batch(iter(rows[replica * own_batches : (replica + 1) * own_batches])).item()
        if last:
            expected = unsplit(whole, reference, inputs, target, given.micro_batches) if whole else None
            equal = report(step, value, expected) and equal
    dist.barrier()
    dist.destroy_process_group()
    raise SystemExit(0 if equal else 1)


if __name__ == "__main__":
    main()
'''
)
