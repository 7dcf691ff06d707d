"""The structure of the Python package: imports point one way, also those inside functions."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from .tree import ROOT, name, sources

PACKAGE = ROOT / "python" / "fastdispatch"

#: A module imports those of its own package and of earlier ones.
ORDER = [
    "text",
    "files",
    "read",
    "graphs",
    "measures",
    "dataset",
    "compare",
    "record",
    "pipeline",
    "detectors",
    "report",
]
ORDER += ["page", "integrations", "testing", "cli"]

#: Modules beside the packages: the interface of the package, and entry points.
BESIDE = {"fastdispatch", "fastdispatch.__main__", "fastdispatch.startup", "fastdispatch.version", "fastdispatch.views"}


#: Packages that use the interface like a program.
USERS = {"cli", "integrations", "testing"}


class Import(NamedTuple):
    target: str
    runs: bool  # not for the type checker only


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in sources(".py", below="python/fastdispatch")}


def targets(node: ast.AST) -> Iterator[str]:
    """Yield the modules of the package that an import statement names."""
    if isinstance(node, ast.Import):
        yield from (each.name for each in node.names if each.name in MODULES)
    if isinstance(node, ast.ImportFrom) and node.module in MODULES:
        for each in node.names:
            if (node.module, each.name) == ("fastdispatch", "_core"):
                continue  # the extension, which is below all packages
            inner = f"{node.module}.{each.name}"
            yield inner if inner in MODULES else node.module


def imports(node: ast.AST, runs: bool = True) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        typed = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
        yield from (Import(target, runs) for target in targets(child))
        yield from imports(child, runs and not typed)


IMPORTS = {module: list(imports(ast.parse(path.read_text(encoding="utf-8")))) for module, path in MODULES.items()}


def package(module: str) -> str:
    return module.split(".")[1]


def test_every_package_has_a_layer() -> None:
    assert {package(module) for module in MODULES if module not in BESIDE} == set(ORDER)


@pytest.mark.parametrize("module", sorted(set(MODULES) - BESIDE))
def test_imports_point_to_the_same_or_an_earlier_package(module: str) -> None:
    own = ORDER.index(package(module))
    for target, _ in IMPORTS[module]:
        if target not in BESIDE:
            assert ORDER.index(package(target)) <= own, f"{name(MODULES[module])} may not import {target}"
        else:
            assert target == "fastdispatch.version" or package(module) in USERS, (
                f"import from fastdispatch._core, not {target}"
            )


def test_no_cycle_of_imports_between_files() -> None:
    graph = {module: {each.target for each in found if each.runs} - {module} for module, found in IMPORTS.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_names_of_classes_and_modules_are_unique() -> None:
    trees = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in MODULES.items()}
    classes = Counter(node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    aliases = Counter(
        target.id
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and re.fullmatch(r"_?[A-Z][a-z]\w*", target.id)
    )
    assert {kind: count for kind, count in (classes + aliases).items() if count > 1} == {}
    stems = Counter(path.stem for path in MODULES.values() if path.stem not in ("__init__", "__main__"))
    assert {stem: count for stem, count in stems.items() if count > 1} == {}


def test_modules_that_c_imports_exist() -> None:
    text = "".join(path.read_text() for path in (ROOT / "csrc").rglob("*.c"))
    found = re.findall(r'ImportModule\("fastdispatch\.([\w.]+)"', text)
    assert found and all((PACKAGE / f"{module.replace('.', '/')}.py").exists() for module in found)
