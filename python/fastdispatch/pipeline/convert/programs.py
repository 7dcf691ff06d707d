"""Texts of the programs that train a package on one rank a stage: for torch.distributed.pipelining and for DeepSpeed.

``$name`` is filled in. The programs are to be read and edited: data and loss are examples.
"""

from __future__ import annotations

from string import Template

#: carry.py: both engines pass values from a stage to its neighbour alone.
CARRY = Template('''\
"""What is handed from stage to stage where only neighbours talk: all that a later stage still needs."""

import copy

import torch

#: Of each stage: what it is given, what of it its module reads, what that makes, what is handed on.
STAGES = ($stages)


class Carrier(torch.nn.Module):
    """A stage that hands on what it is given for others.

    All values of one type travel as one flat tensor: then a stage has one gradient to wait for and runs backward
    once, as the whole model does, and adds up the same numbers in the same order. ``incoming``: what is in them, a
    (shape, dtype) each; the first stage has the inputs of the model.
    """

    def __init__(self, number, stage, incoming=None):
        super().__init__()
        self.stage = stage
        self.incoming = incoming
        self.given, self.reads, self.makes, self.hands = STAGES[number]
        self.last = number == len(STAGES) - 1

    def forward(self, *values):
        known = dict(zip(self.given, values if self.incoming is None else unpack(values, self.incoming)))
        answer = self.stage(*(known[name] for name in self.reads))
        known.update(zip(self.makes, answer if len(self.makes) > 1 else (answer,)))
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
            trial = Carrier(number, copy.deepcopy(stage), incoming)
            answer = trial(*values)
            answer = answer if isinstance(answer, tuple) else (answer,)
            taken.append((values, answer))
            found.append(Carrier(number, stage, incoming))
            values = tuple(each.detach().requires_grad_(each.requires_grad) for each in answer)
            incoming = trial.outgoing
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
"""Train $name on one rank a stage, in the folder above this package:

    torchrun --nproc-per-node $count -m $package.$program --check

Edit batch() and loss(): both are examples.
"""

import argparse
import copy

import torch
import torch.distributed as dist
$imports

from . import full_model
from .carry import STAGES, carriers, shared_parameters
from .weights import SHARED

#: Of each input of one micro-batch: shape, dtype, end of integers, dimension along which micro-batches lie.
INPUTS = ($inputs)


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
    """Of one micro-batch. ``output``: what the model gives, a tuple where it is more than one value."""
    values = output if isinstance(output, tuple) else (output,)
    return sum((each - target.view(-1)[0]).square().mean() for each in values if each.is_floating_point())


def micro_batches_of(inputs, target, count):
    """(inputs, target) of each micro-batch."""
    chunks = [value.chunk(count, dim) for value, (_, _, _, dim) in zip(inputs, INPUTS)]
    return [(tuple(chunk[at] for chunk in chunks), target[at : at + 1]) for at in range(count)]


def unsplit(model, optimizer, inputs, target, count):
    """One step of the model as it was, on one rank: the mean loss."""
    optimizer.zero_grad()
    losses = []
    for given, wanted in micro_batches_of(inputs, target, count):
        each = loss(model(*given), wanted)
        $unsplit_backward
        losses.append(each.detach())
    $unsplit_scale
    optimizer.step()
    return (sum(losses[1:], losses[0]) / count).item()


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
    parser.add_argument("--micro-batches", type=int, default=4)
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


def add_shared(model):
    """Gradients of parameters that lie in several stages are added up."""
    stages = [getattr(model, f"stage{number}") for number in range(len(STAGES))]
    for numbers, parameter in shared_parameters(stages, SHARED):
        gradient = parameter.grad
        if dist.get_rank() not in numbers or gradient is None:
            gradient = torch.zeros_like(parameter)
        dist.all_reduce(gradient)
        if dist.get_rank() in numbers:
            parameter.grad = gradient


def main():
    given = arguments()
    dist.init_process_group("gloo")
    rank, last = dist.get_rank(), len(STAGES) - 1
    if dist.get_world_size() != len(STAGES):
        raise SystemExit(f"{dist.get_world_size()} ranks: torchrun --nproc-per-node {len(STAGES)}")
    torch.manual_seed(0)
    model = full_model()
    if given.check:
        without_dropout(model)
    whole = copy.deepcopy(model) if given.check and rank == last else None
    reference = torch.optim.SGD(whole.parameters(), lr=given.lr) if whole else None
    own = getattr(model, f"stage{rank}")
    first = micro_batches_of(*batch(0, given.micro_batches), given.micro_batches)[0][0]
    found, taken = carriers(model, first)
    stage = PipelineStage(found[rank], rank, len(STAGES), torch.device("cpu"), *taken[rank])
    schedule = SCHEDULES[given.schedule](
        stage,
        given.micro_batches,
        loss_fn=loss,
        args_chunk_spec=tuple(TensorChunkSpec(dim) for _, _, _, dim in INPUTS) if rank == 0 else None,
    )
    optimizer = torch.optim.SGD(own.parameters(), lr=given.lr)
    equal = True
    for step in range(given.steps):
        inputs, target = batch(step, given.micro_batches)
        optimizer.zero_grad()
        losses = []
        if rank == 0:
            schedule.step(*inputs)
        elif rank == last:
            schedule.step(target=target, losses=losses, return_outputs=False)
        else:
            schedule.step()
        add_shared(model)
        optimizer.step()
        if rank == last:
            value = (sum(losses[1:], losses[0]) / len(losses)).item()
            wanted = unsplit(whole, reference, inputs, target, given.micro_batches) if whole else None
            equal = report(step, value, wanted) and equal
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
    """One layer a stage. All ranks make the whole model, so that its weights are those of one process."""

    def __init__(self, model, found):
        self._model = [model]
        self._groups = {}
        specs = [LayerSpec(Layer, each) for each in found]
        super().__init__(specs, num_stages=len(STAGES), loss_fn=loss, partition_method="uniform")

    def get_tied_weights_and_groups(self):
        """Gradients of these are added up among those ranks."""
        stages = [getattr(self._model[0], f"stage{number}") for number in range(len(STAGES))]
        found = []
        for numbers, parameter in shared_parameters(stages, SHARED):
            if tuple(numbers) not in self._groups:
                self._groups[tuple(numbers)] = dist.new_group(numbers)
            if dist.get_rank() in numbers:
                if parameter.grad is None:  # the others wait for it
                    parameter.grad = torch.zeros_like(parameter)
                found.append((parameter, self._groups[tuple(numbers)]))
        return found


def main():
    given = arguments()
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled first
    deepspeed.init_distributed(dist_backend="gloo", verbose=False)
    rank, last = dist.get_rank(), len(STAGES) - 1
    if dist.get_world_size() != len(STAGES):
        raise SystemExit(f"{dist.get_world_size()} ranks: torchrun --nproc-per-node {len(STAGES)}")
    torch.manual_seed(0)
    model = full_model()
    if given.check:
        without_dropout(model)
    whole = copy.deepcopy(model) if given.check and rank == last else None
    reference = torch.optim.SGD(whole.parameters(), lr=given.lr) if whole else None
    first = micro_batches_of(*batch(0, given.micro_batches), given.micro_batches)[0][0]
    net = Pipeline(model, carriers(model, first)[0])
    own = [each for each in net.parameters() if each.requires_grad] or [torch.nn.Parameter(torch.zeros(1))]
    engine, _, _, _ = deepspeed.initialize(
        model=net,
        optimizer=torch.optim.SGD(own, lr=given.lr),
        config={
            "train_micro_batch_size_per_gpu": 1,
            "gradient_accumulation_steps": given.micro_batches,
            "steps_per_print": 1 << 30,
        },
    )
    equal = True
    for step in range(given.steps):
        inputs, target = batch(step, given.micro_batches)
        rows = micro_batches_of(inputs, target, given.micro_batches)
        rows = [(each if len(each) > 1 else each[0], wanted) for each, wanted in rows]
        value = engine.train_batch(iter(rows)).item()
        if rank == last:
            wanted = unsplit(whole, reference, inputs, target, given.micro_batches) if whole else None
            equal = report(step, value, wanted) and equal
    dist.barrier()
    dist.destroy_process_group()
    raise SystemExit(0 if equal else 1)


if __name__ == "__main__":
    main()
'''
)
