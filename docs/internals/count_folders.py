"""Print the table of folders: ``python docs/internals/count_folders.py BEFORE`` (a commit); now is the work tree.

Replaces the table in architecture.md with ``--write``.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = Path(__file__).parent / "architecture.md"
KINDS = {".c", ".h", ".py", ".pyi", ".md", ".js", ".css", ".html", ".sh", ".json"}
Sizes = dict[str, tuple[int, int]]


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True).stdout


def folder(path: Path) -> str:
    depth = 2 if path.parts[0] in ("csrc", "docs", "python", "tests") else 1
    parts = path.parts[:-1][: depth + (path.parts[0] == "python" or path.parts[:2] == ("tests", "c"))]
    return "/".join(parts) or "."


def sizes(contents: dict[Path, bytes]) -> Sizes:
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path, content in contents.items():
        if path.suffix in KINDS:
            files[folder(path)] += 1
            lines[folder(path)] += content.count(b"\n")
    return {name: (files[name], lines[name]) for name in files}


def of_commit(commit: str) -> Sizes:
    names = git("ls-tree", "-r", "--name-only", "-z", commit).decode().split("\0")
    counted = [name for name in names if Path(name).suffix in KINDS]
    request = "".join(f"{commit}:{name}\n" for name in counted).encode()
    command = ["git", "-C", str(ROOT), "cat-file", "--batch"]
    reply = subprocess.run(command, input=request, check=True, capture_output=True).stdout
    contents = {}
    for name in counted:
        head, _, rest = reply.partition(b"\n")
        size = int(head.split()[2])
        contents[Path(name)], reply = rest[:size], rest[size + 1 :]
    return sizes(contents)


def of_work_tree() -> Sizes:
    names = git("ls-files", "-z").decode().split("\0")
    paths = [Path(name) for name in names if (ROOT / name).is_file()]
    return sizes({path: (ROOT / path).read_bytes() for path in paths if path.suffix in KINDS})


def table(before: Sizes, now: Sizes) -> str:
    lines = ["| folder | files before | lines before | files | lines |", "|---|---|---|---|---|"]
    for name in sorted(before | now):
        old, new = before.get(name, (0, 0)), now.get(name, (0, 0))
        lines.append(f"| `{name}` | {old[0] or '-'} | {old[1] or '-'} | {new[0] or '-'} | {new[1] or '-'} |")
    totals = [sum(column) for sizes in (before, now) for column in zip(*sizes.values(), strict=True)]
    lines.append(f"| all | {' | '.join(map(str, totals))} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    commits = [argument for argument in arguments if argument != "--write"]
    text = table(of_commit(commits[0]), of_work_tree())
    if "--write" in arguments:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(re.sub(r"\| folder \|.*?\n(?=\n|\Z)", lambda _: text, page, flags=re.S), encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
