"""``fastdispatch doctor``: each check says what is the case, and what to do."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from fastdispatch.record import doctor
from tests import commands, processes

IDS = ["python", "calls", "torch", "operators", "clock", "output", "gpu", "graphviz", "startup", "limits"]


def check(name: str, folder: Path) -> doctor.Check:
    (found,) = [each for each in doctor.checks(folder) if each.id == name]
    return found


def test_one_line_per_check(tmp_path: Path) -> None:
    head, *lines = commands.out("doctor", tmp_path).splitlines()
    assert head.split() == ["check", "status", "details"]
    assert [line.split()[0] for line in lines] == IDS
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_yet(tmp_path: Path) -> None:
    checks = {each["id"]: each for each in commands.document("doctor", tmp_path / "not yet there")["checks"]}
    assert str(tmp_path) in checks["output"]["text"]


def test_a_folder_without_permission_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *unused: False)  # tests may run as root
    checks = {each["id"]: each for each in commands.document("doctor", tmp_path, status=1)["checks"]}
    assert checks["output"]["status"] == "missing"


def test_a_network_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "network_file_system", lambda folder: "nfs4")
    found = check("output", tmp_path)
    assert (found.status, "on nfs4" in found.text) == ("limited", True)


def test_no_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert check("graphviz", tmp_path).status == "missing"


def test_no_startup_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_HOOK", "nothing.pth")
    assert check("startup", tmp_path).status == "limited"


def test_limits_of_the_process(tmp_path: Path) -> None:
    program = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
    program += "from fastdispatch.cli import main; raise SystemExit(main(['doctor', '--json']))"
    done = processes.python_program("-c", program, folder=tmp_path)
    (limits,) = [each for each in json.loads(done.stdout)["checks"] if each["id"] == "limits"]
    assert limits["status"] == "limited"
    assert "1 MB" in limits["text"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
@pytest.mark.usefixtures("every_tool_id_is_taken")
def test_no_free_tool_id(tmp_path: Path) -> None:
    for tool in (0, 1):
        sys.monitoring.use_tool_id(tool, "test")
    try:
        assert check("calls", tmp_path).status == "limited"
    finally:
        for tool in (0, 1):
            sys.monitoring.free_tool_id(tool)
