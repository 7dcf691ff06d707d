"""What the matrix of versions counts, and the table it writes."""

from pathlib import Path

import pytest

from tests.matrix import __main__ as matrix
from tests.matrix.environments import MATRIX, ROOT

REPORT = """<testsuites><testsuite>
  <testcase classname="tests.unit.test_a" name="test_one"/>
  <testcase classname="tests.unit.test_a" name="test_two[frame]"/>
  <testcase classname="tests.unit.test_a" name="test_two[generators-monitor]"><failure/></testcase>
  <testcase classname="tests.unit.test_a" name="test_three[framework]"><error/></testcase>
  <testcase classname="tests.unit.test_a" name="test_four[record-ranges]"><skipped/></testcase>
</testsuite></testsuites>"""


def test_outcomes_per_source(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(REPORT)
    outcome = matrix.read(tmp_path / "report.xml", "3.14.10 2.14.1\n")
    assert outcome.results == {"passed": 2, "failed": 2, "skipped": 1}
    assert outcome.sources["frame"] == {"passed": 1}
    assert outcome.sources["monitor"] == {"failed": 1}
    cells = outcome.row().split(" | ")
    assert cells[:5] == ["| 3.14.10", "2.14.1", "2", "2", "1"]
    assert cells[5:9] == ["1 of 1", "0 of 1", "0 of 0", "-"]


def test_rows_of_other_versions_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "support.md"
    rule = "|" + "---|" * 10
    page.write_text(
        f"# Head\n\n{rule}\n| 3.13 | 2.6 | 1 |\n| 3.14 | none | 2 |\n\n## After\n\n| a |\n|---|\n| 3.15 | text |\n"
    )
    monkeypatch.setattr(matrix, "SUPPORT", page)
    matrix.write(["| 3.14 | none | 3 |", "| 3.14 | 2.14 | 4 |"])
    rows = "| 3.13 | 2.6 | 1 |\n| 3.14 | 2.14 | 4 |\n| 3.14 | none | 3 |\n"
    assert page.read_text() == f"# Head\n\n{rule}\n{rows}\n## After\n\n| a |\n|---|\n| 3.15 | text |\n"


def test_the_tests_of_all_environments_exist() -> None:
    for name in {name for row in MATRIX for short in (False, True) for name in row.tests(short)}:
        file, _, test = name.partition("::")
        assert (ROOT / file).exists(), name
        assert not test or f"def {test.partition('[')[0]}(" in (ROOT / file).read_text(), name
