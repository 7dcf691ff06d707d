#!/bin/sh
# Build the extension with AddressSanitizer and UBSan and run tests of capture under it.
# Usage: sanitized.sh PYTHON FOLDER [TEST...]
set -e
python=$1 out=$2
shift 2
[ $# -gt 0 ] || set -- tests/integration/calls/test_calls.py tests/integration/trainings/test_recording.py \
    tests/integration/operators/test_operators.py tests/integration/operators/test_backward.py tests/unit/record/test_timeline.py \
    tests/unit/et/test_et_export.py tests/unit/pipelines/test_pipeline_rules.py
FASTDISPATCH_SANITIZE=1 "$python" setup.py -q build --build-lib "$out"
# CPython is not sanitized: the runtime must be preloaded, and CPython's arenas would hide errors. Leaks are checked by
# the C tests, because the interpreter itself leaks at exit.
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libstdc++.so)" \
    PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 PYTHONPATH="$out" \
    "$python" -m pytest -q -p no:cacheprovider "$@"
