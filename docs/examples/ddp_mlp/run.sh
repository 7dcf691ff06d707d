#!/bin/sh
# Train on four ranks and write to FOLDER: their execution traces (et_N.json), the same for simulators (trace.N.et),
# their timelines (timeline_N.json), one of all ranks (timeline.json), the call graph (callgraph.svg), and the
# dependencies of rank 0 (trace_0.svg). Checks the ranks against each other. Usage: run.sh FOLDER [PYTHON]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1
fd="${2:-python} -m fastdispatch"
"${2:-python}" "$here/train.py" "$out/run"
$fd et export "$out/run" -o "$out" --layout astra-sim
for rank in 0 1 2 3; do
    $fd timeline merge "$out/run" --ranks "$rank" -o "$out/timeline_$rank.json"
done
$fd timeline merge "$out/run" -o "$out/timeline.json"
$fd svg "$out/run" -o "$out/callgraph.svg" --ops
$fd et convert "$out/trace.0.et" -o "$out/trace_0.svg"
$fd et check "$out"/trace.?.et
