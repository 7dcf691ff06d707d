#!/bin/sh
# Record the example on two ranks, merge the ranks, print the top of the table, draw the call graph.
# Usage: demo.sh FOLDER-WITH-PYTHON OPERATOR-BACK-END RUN-DIRECTORY
set -e
bin=$1 ops=$2 out=$3
here=$(dirname "$0")
rm -rf "$out"
"$bin/torchrun" --standalone --nproc-per-node 2 -m fastdispatch run --out "$out" --ops "$ops" "$here/pretrain.py" --steps 40
"$bin/fastdispatch" merge "$out" -o "$out/merged.json"
"$bin/fastdispatch" report "$out/merged.json" --top 15
"$bin/fastdispatch" svg "$out/merged.json" -o "$out/callgraph.svg"
cat <<TEXT

Written:
  $out/rank00000.fd, rank00001.fd   what each rank recorded
  $out/merged.json                  both ranks in one file
  $out/callgraph.svg                the picture: open it in a browser
Next:
  $bin/fastdispatch report $out --tree
TEXT
