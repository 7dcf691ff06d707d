"""Packages of other projects, imported on use."""

from importlib import import_module
from typing import Any

from fastdispatch._core import Error


def package(name: str, install: str = "") -> Any:
    """Return a module of another project; raise Error if its package is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise
        needed = install or name.partition(".")[0]
        raise Error(f"the package {needed} is not installed: pip install {needed}") from None
