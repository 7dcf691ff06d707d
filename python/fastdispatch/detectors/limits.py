"""Thresholds of all findings in one table. Shares are of the step, times in milliseconds unless the name has a unit."""

#: Steps that a rank must have before anything is decided, and the share of the step that must be in known paths.
STEPS, COVERED = 4, 0.8

#: A path is part of every step if it ran in this share of the steps.
EVERY = 0.95

#: Calls of a model that stand for steps if nothing is trained.
MODEL_CALLS = 8

#: Severities by share of the step: ``info`` below the first one.
WARNING, CRITICAL = 0.05, 0.2

#: host-sync: always within forward, backward or optimizer; elsewhere in every step, or from this share on.
SYNC_SHARE = 0.01
#: host-sync outside of forward, backward and optimizer: a log reads at most so many values per step.
LOGGED = 4
#: host-sync on a GPU: share of the step in which the GPU is idle because of it.
SYNC_GPU = 0.05

#: input-wait: share of the step and time per step; epochs: a first batch this many times the median, and their share.
INPUT_SHARE, INPUT_MS = 0.05, 2.0
EPOCH_TIMES, EPOCH_SHARE = 3.0, 0.1

#: gc-pause: share of the step, and the number of steps with a collection.
GC_SHARE, GC_STEPS = 0.02, 3

#: evaluation: share of the step. construction: share of the step for modules without parameters.
EVALUATION_SHARE, CONSTRUCTION_SHARE = 0.1, 0.05

#: tiny-ops: repetitions of an operator, or of a module, in one call of a function. A loop of fewer repetitions, but at
#: least LOOP_SHORT, has LOOP_OPS operators in all.
LOOP_OPS, LOOP_MODULES, LOOP_SHORT = 32, 16, 8
#: tiny-ops: mean time; share of the time of a step; or a share of its operators with this share of its time.
TINY_US, TINY_SHARE, TINY_OPS, TINY_LEAST = 100.0, 0.02, 0.1, 0.002

#: unfused-optimizer: share of the step if the program selects it; else operators per step and share.
UNFUSED_SHARE, UNFUSED_OPS, UNFUSED_LARGE_SHARE = 0.03, 600, 0.3

#: device-copy from pageable memory: share of the step, copies and idle time.
PAGEABLE_SHARE = 0.02

#: exposed-comm on a GPU: share of the step in which it only communicates.
COMM_GPU = 0.1

#: device-copy: share of the step; the same of casts that the cache of autocast avoids, and their number relative to
#: that with the cache.
COPY_SHARE, CAST_SHARE, CASTS = 0.05, 0.01, 1.15
#: device-copy: share of the steps, and their number, of functions that save tensors in some steps.
SAVES_SHARE, SAVES = 0.1, 2
#: device-copy: share of the step, of tensors that are made outside of the model.
MADE_SHARE = 0.1

#: recompute: share of the step.
RECOMPUTE_SHARE = 0.1

#: recompile: steps with a compilation, or the number of the step from which on none is expected.
COMPILING_STEPS, COMPILED_BY = 3, 10

#: exposed-comm: collectives per step in one function; share of the step and time on the rank that waits least, in the
#: step in which it waits least.
COLLECTIVES, COMM_SHARE, COMM_MS = 8, 0.3, 3.0

#: skewed-comm: ratio of the bytes of two ranks in one collective, and their difference per step.
SKEW, SKEW_BYTES = 1.5, 64e3

#: low-intensity: FLOPs per byte of slow operators, and of operators to compare with; ratio of their rates; share of the
#: step; operators per call of a function.
LOW_INTENSITY, HIGH_INTENSITY, LOW_RATE, INTENSITY_SHARE, CHAIN = 2.0, 10.0, 0.1, 0.2, 4.0

#: double-precision: share of the step in operators of float64.
DOUBLE_SHARE = 0.1

#: single-precision: share of the step, on the clock of the GPU, in products of float32 matrices.
SINGLE_SHARE = 0.2

#: slow-rank: extra work of a rank, as share of the work of the others and time per step; share in one path. The
#: shortest steps must confirm it: at least this part of the extra work is in them.
SLOW_SHARE, SLOW_MS, SLOW_PATH, SLOW_SHORTEST = 0.2, 4.0, 0.5, 0.5

#: A GPU is slower than those of the other ranks if its clock is at most this part of their median.
SLOW_CLOCK = 0.95

#: Ranks of a sum of ranks: distance of the slowest from the median in deviations, and its extra time in one call path
#: as share of the steps.
RANK_SIGMAS, RANK_SHARE = 6.0, 0.02

#: unequal-work: ratio of calls, or of the time of forward and backward if the optimizer's time is the same.
UNEQUAL_CALLS, UNEQUAL_TIME = 1.1, 1.5

#: stage-imbalance: predicted gain, as share of the step.
STAGE_GAIN = 0.02
#: stage-imbalance: another split is better if its heaviest stage takes less than this share of the time.
BETTER_SPLIT = 0.98

#: pipeline-bubble: idle share of a step of equal stages; the same of waits that the schedule does not explain.
BUBBLE = 0.1

#: slowdown: last steps compared with the first ones, minimum number of steps, significance of the trend (standard
#: deviations), share of the growth in one path, and growth of that path compared with the rest of the step.
GROWTH, GROWTH_STEPS, GROWTH_SIGMAS, GROWTH_PATH, GROWTH_OF_PATH = 1.25, 16, 4.0, 0.5, 1.5
#: slowdown by counts: calls per step of a function in the last third of the steps compared with the first.
GROWTH_CALLS = 1.5
#: slowdown: share of the growth that is CPU time; growth of the CPU time that decides without a path.
GROWTH_OF_CPU, GROWTH_EVERYWHERE = 0.25, 2.0
#: slowdown: the machine became slower if each phase of a step of at least this share grew by at least this part of the
#: largest growth.
GROWTH_PHASE, GROWTH_ALIKE = 0.03, 0.5

#: memory-growth: bytes per step; growth of each quarter of the steps relative to the mean; the whole growth in bytes of
#: blocks, that of resident memory, of which allocators keep some, and as share of the memory.
MEMORY_STEP, MEMORY_STEADY, MEMORY_BYTES, MEMORY_RESIDENT, MEMORY_SHARE = 32e3, 0.6, 8e6, 16e6, 0.01

#: allocator-retry: retries in the recording, and per step.
RETRIES, RETRIES_PER_STEP = 3, 0.01

#: launch-bound: share of the step in which the GPU has no work because the CPU was late.
STARVED_SHARE = 0.1

#: host-code: share of the step and time in every step; microseconds of a function per operator that it calls;
#: nanoseconds per other call, at least the cost of recording: own-cost reports many short calls.
HOST_SHARE, HOST_MS, HOST_US, HOST_CALL_NS = 0.05, 1.0, 10.0, 500.0

#: gil: share of the step in which other threads ran Python.
GIL_SHARE = 0.02

#: hang: time without any call, in steps and at least in seconds.
HANG_STEPS, HANG_S = 5.0, 5.0

#: The same of a process that waits for another program through a socket, in these limits: it may be slow.
HANG_PEER = 2.0

#: own-cost: share of the run; steps of a run in which the first 36 do not count.
OWN_SHARE, OWN_STEPS = 0.02, 500
