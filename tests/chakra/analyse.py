"""Print the figures of HTA for a folder of Kineto-style traces, as JSON. Runs in the environment of the tools."""

import contextlib
import json
import sys

from hta.trace_analysis import TraceAnalysis

with contextlib.redirect_stdout(sys.stderr):
    analysis = TraceAnalysis(trace_dir=sys.argv[1], include_last_profiler_step=True)
    breakdown = analysis.get_temporal_breakdown(visualize=False)
    _, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
    launches = analysis.get_cuda_kernel_launch_stats(visualize=False)
    _, critical = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=0)
    names = analysis.t.symbol_table.get_sym_table()
    frame = analysis.t.get_trace(0)
found = {
    "ranks": sorted(analysis.t.get_all_traces()),
    "iterations": [int(step) for step in analysis.t.get_iterations(0)],
    "breakdown": breakdown.to_dict("records"),
    "kernels": sorted({row["name"] for row in kernels.to_dict("records")}),
    "launches": len(launches[0]),
    "critical": bool(critical),
    "names": sorted(names[number] for number in frame[frame["stream"] < 0]["name"]),
}
json.dump(found, sys.stdout, default=float)
