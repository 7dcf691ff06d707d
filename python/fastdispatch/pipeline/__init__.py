"""Pipeline parallelism: partitions, schedules, simulation, profiles and reports.

plan = fastdispatch.pipeline.plan("1f1b", stages=4, micro_batches=8)
print(plan.table(0))
print(plan.replay().bubble_of_total)
"""

from fastdispatch.pipeline.convert import convert
from fastdispatch.pipeline.graph import Graph, Node
from fastdispatch.pipeline.optimize import optimize
from fastdispatch.pipeline.optimum import Optimum
from fastdispatch.pipeline.partition import megatron_layout, partition, split_points, with_parts
from fastdispatch.pipeline.plan import Job, Plan, Replay, TrainStep, plan, table_of
from fastdispatch.pipeline.report import PipelineReport as Report
from fastdispatch.pipeline.report import report
from fastdispatch.pipeline.rules import rule
from fastdispatch.read.schedule_jobs import SCHEDULES

__all__ = [
    "SCHEDULES",
    "Graph",
    "Job",
    "Node",
    "Optimum",
    "Plan",
    "Replay",
    "Report",
    "TrainStep",
    "convert",
    "megatron_layout",
    "optimize",
    "partition",
    "plan",
    "report",
    "rule",
    "split_points",
    "table_of",
    "with_parts",
]
