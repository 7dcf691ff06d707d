"""Figures of HolisticTraceAnalysis 0.5.0 for one trace, as JSON.

Usage: python hta_figures.py TRACE, with an interpreter that has the package. Times are microseconds, as in HTA. The
environment variable HTA_DISABLE_NS_ROUNDING=1 keeps digits below a microsecond.
"""

import contextlib
import io
import json
import logging
import sys
import warnings

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")

from hta.trace_analysis import TraceAnalysis  # noqa: E402


def plain(value):
    """JSON has no NaN, and no types of numpy."""
    number = float(value)
    return None if number != number else number


def temporal(analysis):
    row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    names = {"idle_time": "idle", "compute_time": "compute", "non_compute_time": "other work", "kernel_time": "time"}
    return {f"{name}": plain(row[f"{key}(us)"]) for key, name in names.items()}


def breakdown(analysis):
    kinds, _ = analysis.get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=True, num_kernels=10**9)
    return {row["kernel_type"].lower(): plain(row["sum"]) for _, row in kinds.iterrows()}


def kernels(analysis):
    _, rows = analysis.get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=True, num_kernels=10**9)
    return {
        row["name"]: {key: plain(row[f"{key} (us)"]) for key in ("sum", "mean", "max", "min")}
        for _, row in rows.iterrows()
    }


def overlap(analysis):
    return {"share": plain(analysis.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"])}


def idle(analysis):
    rows, _ = analysis.get_idle_time_breakdown(visualize=False, consecutive_kernel_delay=30, ranks=[0])
    sums = rows.groupby("idle_category")["idle_time"].sum()
    return {name: plain(sums.get(name, 0)) for name in ("host_wait", "kernel_wait", "other")}


def queue(analysis):
    """The maximum of any stream, and the sum over streams of length times time."""
    series = analysis.get_queue_length_time_series(ranks=[0])[0]
    area = 0.0
    for _, rows in series.groupby("stream"):
        ordered = rows.sort_values("ts", kind="stable")
        area += float((ordered["queue_length"] * (ordered["ts"].shift(-1) - ordered["ts"])).sum())
    return {"max": plain(series["queue_length"].max()), "length by time": area}


def bandwidth(analysis):
    rows = analysis.get_memory_bw_summary(ranks=[0])
    found = {}
    for (_, name), row in rows["memory_bw_gbps"].iterrows():
        found.update({f"{name} {key}": plain(row[key]) for key in ("count", "mean", "max")})
    return found


def copies(analysis):
    """The bandwidths of single copies, from the events that HTA read."""
    events, names = analysis.t.get_trace(0), analysis.t.symbol_table.get_sym_table()
    found = {}
    for rate, place in zip(events["memory_bw_gbps"], events["name"], strict=True):
        name = "Memset" if names[place].startswith("Memset") else names[place][:11]
        if rate > 0:
            found.setdefault(name, []).append(float(rate))
    made = {}
    for name, rates in found.items():
        made[f"{name} count"], made[f"{name} max"] = len(rates), max(rates)
        made[f"{name} mean"] = sum(rates) / len(rates)
    return made


def launches(analysis):
    rows = analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False, include_memory_events=True)[0]
    return {
        "count": len(rows),
        "calls": plain(rows["cpu_duration"].sum()),
        "delays": plain(rows["launch_delay"].sum()),
        "calls above 50 us": int((rows["cpu_duration"] > 50).sum()),
        "delays above 100 us": int((rows["launch_delay"] > 100).sum()),
        "shorter than call": int((rows["gpu_duration"] < rows["cpu_duration"]).sum()),
    }


def main():
    made = {}
    with contextlib.redirect_stdout(io.StringIO()):
        analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, include_last_profiler_step=True)
        events = analysis.t.get_trace(0)
        made["kept"] = sorted(int(index) for index in events["index"])
        for figure in (temporal, breakdown, kernels, overlap, idle, queue, bandwidth, copies, launches):
            try:
                made[figure.__name__] = figure(analysis)
            except Exception as error:
                made[figure.__name__] = {"error": f"{type(error).__name__}: {error}".partition("\n")[0]}
    print(json.dumps(made))


main()
