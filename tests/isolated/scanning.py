"""Read a run directory repeatedly, like `top`, `report` and `stacks`, until a file exists. Prints all states and errors
with their counts. Arguments: run directory, that file."""

import json
import sys
from collections import Counter
from pathlib import Path

import fastdispatch
from fastdispatch.files import run_directory

folder, end = Path(sys.argv[1]), Path(sys.argv[2])
met: Counter[str] = Counter()
print("under way", flush=True)
while not end.exists():
    for path in (folder / "rank00000.fd", folder):
        try:
            live = run_directory.is_live(folder / "rank00000.fd")
            rank = fastdispatch.load(path).ranks[0]
        except fastdispatch.Error as error:
            met["absent" if "No such file" in str(error) or "no recording" in str(error) else str(error)] += 1
            continue
        met[rank["state"]] += 1
        if not rank["complete"]:
            met[f"incomplete: {rank['notes']}, {rank['file_bytes']} bytes, {path.name}"] += 1
        met["live"] += live
print(json.dumps(met))
