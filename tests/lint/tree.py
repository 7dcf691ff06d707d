"""The input of the lint tests: files tracked by git."""

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
LAYERS = ["base", "json", "streams", "recording", "clocks", "trace", "profile", "columns", "pipeline"]
LAYERS += ["events", "et", "gpu", "capture", "module"]
BELOW_PYTHON = LAYERS[: LAYERS.index("capture")]


@cache
def tracked() -> tuple[Path, ...]:
    """Files that git tracks or would add; in a copy without git, all files outside build folders."""
    command = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"]
    listed = subprocess.run(command, capture_output=True, text=True)
    if listed.returncode == 0:
        found = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        found = [path for path in ROOT.rglob("*") if not {"build", ".venv", ".git"} & set(path.parts)]
    return tuple(path for path in found if path.is_file())


def sources(*suffixes: str, below: str = "csrc") -> list[Path]:
    return [path for path in tracked() if path.suffix in suffixes and path.is_relative_to(ROOT / below)]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def layer(path: Path) -> str:
    return path.relative_to(ROOT / "csrc").parts[0]


@cache
def code(path: Path) -> str:
    """The text of a C file with comments and contents of strings replaced by blanks; keeps lines."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)

    def blank(match: re.Match[str]) -> str:
        text = match.group()
        return '""' if text[0] == '"' else re.sub(r"[^\n]", " ", text)

    return pattern.sub(blank, path.read_text(encoding="utf-8"))
