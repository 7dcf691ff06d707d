"""The stub agrees with the C core; `make lint` checks the types of the package."""

import ast
import importlib.util
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch import _core
from fastdispatch.record.options import Options, RareOptions
from fastdispatch.views import GraphViews, TraceViews

ROOT = Path(__file__).parents[3]
STUB = ast.parse((ROOT / "python" / "fastdispatch" / "_core.pyi").read_text())


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="needs mypy")
def test_the_stub_is_the_module(tmp_path: Path) -> None:
    environment = os.environ | {"MYPYPATH": str(ROOT / "python"), "MYPY_CACHE_DIR": str(tmp_path)}
    # stubtest needs an explicit configuration file.
    config = ["--mypy-config-file", "pyproject.toml"]
    command = [sys.executable, "-m", "mypy.stubtest", "fastdispatch._core", *config]
    checked = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def classes() -> list[ast.ClassDef]:
    return [node for node in STUB.body if isinstance(node, ast.ClassDef)]


def test_every_function_and_class_is_in_the_stub() -> None:
    reported = {node.name for node in STUB.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert reported == {name for name in vars(_core) if not name.startswith("__")}
    for node in classes():
        own = {name for name, value in vars(getattr(_core, node.name)).items() if value is not None}
        own -= {"__module__", "__weakref__", "__dict__", "__doc__"}
        assert {item.name for item in node.body if isinstance(item, ast.FunctionDef)} == own, node.name


def test_all_of_it_is_documented_in_both_places() -> None:
    for node in [*STUB.body, *(item for found in classes() for item in found.body)]:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name != "__new__":
            assert ast.get_docstring(node), node.name
    for node in classes():
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and item.name != "__new__":
                assert vars(getattr(_core, node.name))[item.name].__doc__, item.name


def test_methods_of_the_core_have_signatures() -> None:
    """Without signatures, stubtest compares only names."""
    for node in classes():
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and not item.decorator_list and item.name != "__new__":
                assert vars(getattr(_core, node.name))[item.name].__text_signature__, f"{node.name}.{item.name}"


def test_arguments_of_a_recording_have_one_type_and_default() -> None:
    """The keyword arguments of CallGraph, with those of RareOptions, are the fields of Options."""
    *main, rare = list(inspect.signature(fastdispatch.CallGraph.__init__).parameters.values())[1:]
    types = {each.name: each.annotation for each in main}
    types |= {name: reference.__forward_arg__ for name, reference in RareOptions.__annotations__.items()}
    assert rare.kind is inspect.Parameter.VAR_KEYWORD
    assert types == Options.__annotations__
    assert Options(**{each.name: each.default for each in main}).given() == fastdispatch.CallGraph()._options.given()
    for name in RareOptions.__annotations__:
        assert f"\n{name}:\n" in inspect.cleandoc(str(RareOptions.__doc__))


def test_names_of_modules_are_unique() -> None:
    names = [path.stem for path in (ROOT / "python" / "fastdispatch").rglob("*.py") if path.stem != "__init__"]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_the_interface_and_its_stub_have_the_same_names() -> None:
    body = ast.parse((ROOT / "python" / "fastdispatch" / "__init__.pyi").read_text()).body
    imported = {each.asname for node in body if isinstance(node, ast.ImportFrom) for each in node.names}
    defined = {node.name for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert (imported | defined) - {None, "_Tables", "_Recorder", "load_ipython_extension"} == set(fastdispatch.__all__)


def test_attached_methods_are_those_of_the_stub() -> None:
    for views, kind in ((TraceViews, fastdispatch.Trace), (GraphViews, fastdispatch.CallGraph)):
        for base in views.__mro__[:-1]:
            assert {name for name in vars(base) if not name.startswith("_")} <= set(dir(kind)), base
