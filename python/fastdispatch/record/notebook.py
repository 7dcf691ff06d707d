"""Recordings in a notebook or an IPython shell."""

import sys
from typing import Any

from fastdispatch.record.environment import FROM_USER


def shell() -> Any:
    """Return the running IPython shell, None outside of one; imports nothing."""
    module = sys.modules.get("IPython")
    found = getattr(module, "get_ipython", None)
    return found() if found is not None else None


def cell_folders() -> list[tuple[str, int]]:
    """Return the folder of the files that ipykernel names after cells; its name contains the process id."""
    compiler = sys.modules.get("ipykernel.compiler")
    folder = getattr(compiler, "get_tmp_directory", None)
    return [(folder(), FROM_USER)] if folder is not None else []
