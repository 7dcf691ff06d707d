"""Pairs of an execution trace and a Kineto trace of a rank with a GPU: in torch.profiler's form, times invented."""

import json
from pathlib import Path
from typing import Any

NAMES = ("aten::mm", "aten::add", "aten::relu", "aten::mul", "aten::sum")


def node(number: int, parent: int, name: str, rf_id: int, schema: str = "", tensors: Any = ((), ())) -> dict[str, Any]:
    sides = [
        {
            "values": list(side),
            "shapes": [[32, 64]] * len(side),
            "types": ["Tensor(float)"] * len(side),
            "strides": [[64, 1]] * len(side),
        }
        for side in tensors
    ]
    numbers = {"rf_id": rf_id, "fw_parent": 0, "seq_id": -1, "scope": 0 if schema else 7, "tid": 1, "fw_tid": 0}
    texts = {"op_schema": schema, "kernel_backend": "", "kernel_file": "", "tensor_range": ""}
    attrs = [{"name": key, "type": "uint64", "value": value} for key, value in numbers.items()]
    attrs += [{"name": key, "type": "string", "value": value} for key, value in texts.items()]
    return {"id": number, "name": name, "ctrl_deps": parent, "inputs": sides[0], "outputs": sides[1], "attrs": attrs}


def slice_of(cat: str, name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": 77, "ts": ts, "dur": dur, "args": args}


def write_pair(folder: Path, operators: int, steps: int = 2) -> tuple[Path, Path]:
    """So many operators, each with a kernel, the last of a step an all-reduce; steps end with a synchronisation."""
    nodes = [node(2, 1, "[pytorch|profiler|execution_trace|thread]", 0)]
    events = []
    number, rf_id, time = 10, 1, 1e6
    last = [3, 4, 0, 2048, 4, "cuda:0"]
    for step in range(steps):
        label, label_rf, begin = number, rf_id, time
        number, rf_id = number + 1, rf_id + 1
        for index in range(operators // steps):
            name = NAMES[index % len(NAMES)]
            collective = index == operators // steps - 1
            out = [number + 1, number + 2, 0, 2048, 4, "cuda:0"]
            nodes.append(node(number, label, name, rf_id, f"{name}(Tensor x) -> Tensor", ([last], [out])))
            args = {"External id": rf_id, "Record function id": rf_id, "Ev Idx": rf_id}
            kernel = "ncclDevKernel_AllReduce_Sum_f32" if collective else f"void kernel_{index % 40}<float>(int)"
            events += [
                slice_of("cpu_op", name, time, 9.5, **args),
                slice_of(
                    "cuda_runtime", "cudaLaunchKernel", time + 2, 3, **{"External id": rf_id, "correlation": rf_id}
                ),
                slice_of("kernel", kernel, time + 12, 8, **{"External id": rf_id, "correlation": rf_id, "stream": 7}),
            ]
            number, rf_id, time, last = number + 3, rf_id + 1, time + 12, out
        nodes.append(node(label, 2, f"ProfilerStep#{step}", label_rf))
        events.append(slice_of("cuda_runtime", "cudaDeviceSynchronize", time, 20, correlation=rf_id))
        args = {"External id": label_rf, "Record function id": label_rf, "Ev Idx": label_rf}
        events.append(slice_of("user_annotation", f"ProfilerStep#{step}", begin, time + 20 - begin, **args))
        rf_id, time = rf_id + 1, time + 25
    nodes.append(node(1, 1, "[pytorch|profiler|execution_trace|process]", 0))
    head = {"schema": "1.1.1-chakra.0.0.4", "pid": 7, "time": "2026-11-22 05:02:45", "start_ts": 5}
    paths = folder / "et_0.json", folder / "kineto_0.json"
    paths[0].write_text(json.dumps(head | {"nodes": nodes, "finish_ts": 9}))
    info = {"backend": "nccl", "rank": 0, "world_size": 1}
    trace = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "x"}], "distributedInfo": info}
    paths[1].write_text(json.dumps(trace | {"traceEvents": events}, indent=1))
    return paths
