"""Write a data set on a Ray cluster of this machine, one process of which is killed by its first group."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fastdispatch.dataset import runners, write_dataset


def killing_once(step: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    killed = Path(sys.argv[3])

    def once(task: Any) -> Any:
        try:
            killed.touch(exist_ok=False)
        except FileExistsError:
            return step(task)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    return runners.ray(once, tasks)


if __name__ == "__main__":
    write_dataset.MAX_RANKS = 2
    runners.RUNNERS["ray"] = killing_once
    manifest = write_dataset.write_dataset([sys.argv[1]], sys.argv[2], runner="ray")
    print(json.dumps({"ranks": sorted(manifest.ranks), "groups": len(manifest.groups)}))
