"""Plain English in pages, comments, docstrings, messages and names of tests.

``python -m tests.lint.test_prose [FOLDER...]`` prints the findings.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from .tree import ROOT, name, tracked

GENERATED = {"docs/reference/cli.md"}  # from help texts of python/
QUOTING = {"CONTRIBUTING.md", "tests/lint/test_prose.py"}  # they show the words

_PER = "byte|bit|row|line|box|bar|call|chunk|event|file|figure|group|job|layer|lock|machine|module|node|number|operator"
_PER += "|page|pair|process|rank|record|schema|slice|slot|stack|stage|step|string|table|test|thread|track|type|word"

#: What is found, and what to write instead.
RULES: dict[str, tuple[str, str]] = {
    "clause": (
        r"(?:^|[.;:] +)(?:what|who|whoever|whatever) (?:\w+ ){0,5}?(?:is|are|was|were|has|had|does|did|can|may|waits"
        r"|finds|found|comes|came|goes|lies|ended|ends|began|asks|runs|ran|stands|stood|takes|took)\b(?![^.;]*\?)",
        "a noun as subject: 'calls without room are counted', not 'what finds no room is counted'",
    ),
    "none": (r"\b(?:is|are|was|were) (?-i:none)\b", "'invalid', 'missing', 'no X'"),
    "ours": (r"\bof (?:ours|theirs|yours)\b", "'own', or the name of the owner"),
    "least": (r"\bthe least\b(?! common)", "'minimum', 'at least', 'shortest'"),
    "per": (
        rf"\b(?:{_PER}|bytes|MB|KB|kB|ns|us|ms|figures|machines) an? (?:{_PER})\b",
        "'per': 'one row per group'",
    ),
    "per, plural": (
        r"\b(?:micro-batches|collectives|chunks|times|copies|casts|checks) an? (?:step|rank|stage|layer|second)\b",
        "'per': 'two micro-batches per step'",
    ),
    "person": (
        r"\b(?:somebody|nobody|anybody|whoever)\b",
        "the part that acts: 'no rank', 'another program', 'the reader'",
    ),
    "says of": (r"\b(?:says?|said|knows?|tells?) of\b", "'states', 'the facts of', 'has'"),
    "says so": (r"\b(?:says?|said) so\b", "what is printed: 'one line reports it'"),
    "said": (r"\b(?:is|are|was|were) said\b", "'reported', 'printed', 'shown'"),
    "looked for": (r"\blooked for\b", "'searched', 'detected'"),
    "but for": (r"\bbut for\b", "'except'"),
    "told": (r"\btold\b", "'reported', 'printed', 'distinguished'"),
    "is no": (r"(?<!there )\b(?:is|are) no (?!longer\b|more\b)", "'is not a', 'has no', 'no X'"),
    "answers": (r"\b(?:answers|answered|answering)\b", "'returns', 'replies', 'result'"),
    "come": (r"\b(?:comes? (?:to|out|of|with)|came to|goes by|go by)\b", "'reaches', 'contains', 'uses'"),
    "taken": (r"\b(?:taken (?:for|as|too|by)|takes? (?:what|these|those|all that))\b", "'accepts', 'treated as'"),
    "where": (r"\bwhere (?:there|that|it|one|none) (?:is|are|was|were)\b", "'if', 'when', 'wherever possible'"),
    "own": (
        r"\bof (?:its|their|our) own(?=[.,;:)]|$| (?:and|or|in|for|to|that|which|by|on|at|with|below|of|is|are)\b)",
        "'own' before the noun: 'its own thread'",
    ),
    "left out": (r"\b(?:left|leaves?|leaving) out\b", "'skipped', 'omitted', 'excluded'"),
    "words": (
        r"\b(?:witness|deeds?|comers?|rehearsal|askers?|answerers?|twins|tying|fate|hiding|lookahead|telescopes)\b",
        "a standard term of the field",
    ),
}
PATTERN = re.compile("|".join(f"(?P<r{i}>{pattern})" for i, (pattern, _) in enumerate(RULES.values())), re.I | re.M)


def markdown(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs without code and links."""
    text = re.sub(r"^```.*?^```$", lambda code: "\n" * code[0].count("\n"), text, flags=re.M | re.S)
    text = re.sub(r"^    .*$", "", text, flags=re.M) if "\n    " in text else text
    line = 1
    for part in re.split(r"(\n\n+|\n(?=[*|#-]))", text):
        plain = re.sub(r"`[^`]*`", "X", part)
        yield line, re.sub(r"\]\([^)]*\)", "]", plain)
        line += part.count("\n")


def words(name: str) -> str:
    """A name as a sentence: reports of tests show it."""
    return name.replace("_", " ")


def c_texts(text: str) -> Iterator[tuple[int, str]]:
    for match in re.finditer(r'/\*.*?\*/|//[^\n]*|(?:"(?:\\.|[^"\\\n])*"\s*)+', text, re.S):
        if match[0][0] == "/" or not re.search(r"#\s*include\s*$", text[: match.start()]):
            plain = re.sub(r"\n\s*\*", "\n", match[0]) if match[0][0] == "/" else re.sub(r'"\s*"', "", match[0])
            yield text.count("\n", 0, match.start()) + 1, plain.strip('/*" \n')
    for match in re.finditer(r"^static void\n(\w+)\(void\)", text, re.M):  # a test
        yield text.count("\n", 0, match.start()) + 2, words(match[1])


def python_texts(text: str) -> Iterator[tuple[int, str]]:
    inside: set[ast.AST] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            inside.update(ast.walk(node))
            parts = [part.value if isinstance(part, ast.Constant) else "X" for part in node.values]
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            yield node.lineno, node.value
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.lineno, words(node.name.removeprefix("test_"))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: ")


READERS = {".md": markdown, ".c": c_texts, ".h": c_texts, ".py": python_texts, ".pyi": python_texts}


def findings(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line, rule and text of each finding in a file."""
    for line, text in READERS[path.suffix](path.read_text(encoding="utf-8")):
        flat = re.sub(r"\s+", " ", text)
        for match in PATTERN.finditer(flat):
            rule = list(RULES)[int(str(match.lastgroup)[1:])]
            yield line, rule, flat[max(match.start() - 30, 0) : match.end() + 30].strip()


def folder(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    return (
        "pages" if path.suffix == ".md" and parts[0] != "csrc" else "/".join(parts[: -1 if len(parts) < 4 else 3][:3])
    )


def files() -> list[Path]:
    return [path for path in tracked() if path.suffix in READERS and name(path) not in GENERATED | QUOTING]


def lines(places: list[str]) -> Iterator[str]:
    """The findings below folders, or in files whose names begin so; all without places."""
    for path in files():
        if not places or folder(path) in places or name(path).startswith(tuple(places)):
            for line, rule, text in findings(path):
                yield f"{name(path)}:{line}: {rule}: ...{text}...  ({RULES[rule][1]})"


#: Per rule, a sentence that it finds and a plain one that it does not.
EXAMPLES = {
    "clause": ("What finds no room is counted.", "Calls without room are counted."),
    "none": ("A packet that is none is skipped.", "Malformed packets are skipped."),
    "ours": ("a thread of ours", "its own thread"),
    "least": ("the least of the times", "the minimum time"),
    "per": ("one row a group", "one row per group"),
    "per, plural": ("two micro-batches a step", "two micro-batches per step"),
    "person": ("a file that nobody reads", "a file that is never read"),
    "says of": ("what a snapshot says of a clock", "the clocks of a snapshot"),
    "says so": ("one line says so", "one line reports it"),
    "said": ("damage is said", "damage is reported"),
    "looked for": ("hangs are looked for", "hangs are detected"),
    "but for": ("all but for the first", "all except the first"),
    "told": ("is told in one line", "is printed in one line"),
    "is no": ("the file is no recording", "the file is not a recording"),
    "answers": ("the function answers", "the function returns"),
    "come": ("the rows come out sorted", "the rows are sorted"),
    "taken": ("numbers are taken for ranks", "numbers are treated as ranks"),
    "where": ("the rank, where there is one", "the rank, if known"),
    "own": ("a thread of its own", "its own thread"),
    "left out": ("the row is left out", "the row is skipped"),
    "words": ("the fate of a call", "the result of a call"),
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_has_an_example(rule: str) -> None:
    found, plain = EXAMPLES[rule]
    pattern = re.compile(RULES[rule][0], re.I | re.M)
    assert pattern.search(found) and not PATTERN.search(plain)


@pytest.mark.parametrize("path", files(), ids=name)
def test_plain_english(path: Path) -> None:
    assert [*findings(path)] == [], f"python -m tests.lint.test_prose {name(path)}"


if __name__ == "__main__":
    print("\n".join(lines(sys.argv[1:])))


# Spelled in parts, so that this file does not find itself.
MARKS = re.compile(r"\b(" + "TO" + "DO|FIX" + "ME|XX" + "X)\\b")
PLACES = re.compile(r"(?<![\w.])/(?:wo" + r"rk|op" + r"t/fd|tm" + r"p/(?:setup|build|lint))\b|/home/\w+/\w+/")
TEXTS = {".c", ".h", ".py", ".md", ".toml", ".sh", ".yml", ".txt", ".json", ".cfg", ".html", ".css", ".js", ".pyi", ""}


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for path in tracked():
        if path.suffix in TEXTS:
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if pattern.search(line):
                    found.append(f"{name(path)}:{number}: {line.strip()[:80]}")
    return found


def test_nothing_is_left_to_do() -> None:
    assert lines_with(MARKS) == []


def test_no_paths_of_one_machine() -> None:
    assert lines_with(PLACES) == []
