"""Differences between two runs of a module, and their reasons in docs/concepts/reliability.md."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tests.cpython.running import PROCESS, Result, Setting

FAILING = ("failed", "error", "unexpected success", "not finished")
DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "concepts" / "reliability.md"
HEADING = "| test | version | mode | reason |"


@dataclass(frozen=True)
class Difference:
    module: str
    version: str
    setting: Setting
    test: str
    plain: str
    recorded: str
    reason: str

    def __str__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        return f"{self.version} {self.setting}  {self.test}: {self.plain} -> {self.recorded}{why}"


@dataclass(frozen=True)
class Known:
    """A row of the table in docs/concepts/reliability.md: an unavoidable difference, with its reason."""

    test: str
    versions: tuple[str, ...]
    mode: str
    reason: str

    def covers(self, module: str, version: str, setting: Setting) -> bool:
        """Whether the row applies to this module in this setting."""
        short = ".".join(version.split(".")[:2])
        return (
            re.match(rf"{re.escape(module)}[. ]", self.test) is not None
            and ("all" in self.versions or short in self.versions)
            and (self.mode == "all" or set(self.mode.split()) <= set(str(setting).split()))
        )

    def explains(self, difference: Difference) -> bool:
        one = difference
        return self.covers(one.module, one.version, one.setting) and fnmatchcase(one.test, self.test)


def known_differences(document: Path = DOCUMENT) -> list[Known]:
    lines = document.read_text(encoding="utf-8").splitlines()
    rows = []
    for line in lines[lines.index(HEADING) + 2 :]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        tests = re.findall(r"`([^`]+)`", cells[0])
        rows += [Known(test, tuple(re.split(r",\s*", cells[1])), cells[2], cells[3]) for test in tests]
    return rows


def _recorder(setting: Setting, result: Result) -> str:
    """Whether the recorder ran as in the setting: a run without a recording would prove nothing."""
    if not result.recorder:
        return "not there"
    contexts = result.stats.get("contexts")
    if contexts is None:  # the process did not reach its end
        return str(setting)
    return f"{setting.calls} {'recorded' if contexts > 100 else 'paused'}"


def _status(result: Result) -> str:
    """How the process ended, without an exit status that follows from the outcomes of its tests."""
    status = result.outcomes[PROCESS]
    failing = any(outcome in FAILING for test, outcome in result.outcomes.items() if test != PROCESS)
    return "ended" if status == f"exit status {int(failing)}" else status


def compare(module: str, version: str, setting: Setting, plain: Result, recorded: Result) -> list[Difference]:
    found: list[Difference] = []

    def add(test: str, before: str, after: str, reason: str = "") -> None:
        if before != after:
            found.append(Difference(module, version, setting, test, before, after, reason))

    add(f"{module} (recorder)", str(setting), _recorder(setting, recorded))
    add(f"{module} {PROCESS}", _status(plain), _status(recorded))
    for test in dict.fromkeys([*plain.outcomes, *recorded.outcomes]):
        after = recorded.outcomes.get(test, "absent")
        if test == PROCESS or (after == "absent" and _status(recorded) != "ended"):
            continue  # a killed process has run only some of its tests
        reason = recorded.reasons.get(test) or plain.reasons.get(test, "")
        add(test, plain.outcomes.get(test, "absent"), after, reason)
    return found
