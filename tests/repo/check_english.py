"""Sentences that break the rule of English in CONTRIBUTING.md: their number in each area of the tree may only fall.

Usage: check_english.py ROOT [--list [AREA]] [--record]. Compares the counts with tests/repo/english.txt and exits with 1 where one is above it.
--list prints each place as file:line: words, --record writes today's counts where their sum has not risen. A regular expression finds words and not
meanings: a count of 0 is no aim, and a sentence that is right as it stands may stay.
"""
import re
import sys
from pathlib import Path

# What is read: comments, and what programs print, except in tests, which quote it.
AREAS = {
    "base": ["engine/base"], "training": ["engine/training"], "reading": ["engine/reading"], "gui": ["gui"], "lessons": ["lessons"],
    "scripts": ["isobar", "cmake", "submit", "datasets", "examples", "CMakeLists.txt"], "tests": ["tests"], "docs": ["docs", "README.md", "CONTRIBUTING.md"],
}
CPP, HASH = (".h", ".cpp", ".cu", ".cuh"), (".py", ".sh", ".cmake", ".sbatch", ".toml", "")
# A comment that begins so leans on the line above it; in the one behind a member the first letter is small.
LEANS = re.compile(r"(?:[Oo]f|[Tt]he same|[Tt]hat|[Aa]s|[Ll]ikewise|And|But|Those|These|They)\b")
# Programs print, report, name, refuse; a run continues; a person is the learner, the user or the caller. ", say" is "for example".
WORDS = re.compile(r"\b(?:(?<!, )say|says|said|saying|tells?|told|telling|knows|knew|go(?:es)? on|went on|going on|gone on|whoever)\b(?![:(])")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def comment_blocks(text, cpp):
    """(line, words) of each comment: lines that follow one another are one, and what stands behind code is one of its own."""
    mark = re.compile(r"//[/!]?<?" if cpp else r"(?:^|(?<=\s))#")
    open_block = None
    for number, line in enumerate(text.splitlines(), 1):
        bare = re.sub(STRING, '""', line)
        found = mark.search(bare)
        words = bare[found.end():].strip() if found and not line.startswith("#!") else None
        alone = found is not None and not bare[:found.start()].strip()
        if open_block and (words is None or not alone and not open_block[2]):
            yield open_block[:2]
            open_block = None
        if words is None:
            continue
        if open_block and alone:
            open_block[1] += " " + words
        else:
            if open_block:
                yield open_block[:2]
            open_block = [number, words, alone]
    if open_block:
        yield open_block[:2]


def breaks(path, text, in_tests):
    """(line, words) of each place that breaks the rule."""
    if path.suffix == ".md":
        for number, line in enumerate(text.splitlines(), 1):
            for found in WORDS.finditer(line):
                yield number, found.group()
        return
    cpp = path.suffix in CPP
    for number, words in comment_blocks(text, cpp):
        for found in [LEANS.match(words), *WORDS.finditer(words)]:
            if found:
                yield number, found.group()
    if cpp and not in_tests:
        for number, line in enumerate(text.splitlines(), 1):
            for literal in STRING.findall(re.sub(r"(?<!:)//.*", "", line)):
                for found in WORDS.finditer(literal):
                    yield number, found.group()
    elif path.name == "isobar":
        for number, line in enumerate(text.splitlines(), 1):
            for found in WORDS.finditer(line) if line.startswith("  ./isobar") or line.startswith("  --") else []:
                yield number, found.group()


def places(root, area):
    for top in AREAS[area]:
        for path in sorted((root / top).rglob("*")) if (root / top).is_dir() else [root / top]:
            readable = path.suffix in (*CPP, ".md") or path.suffix in HASH and (path.suffix or path.name == "isobar") or path.name == "CMakeLists.txt"
            if path.is_file() and readable and "recorded" not in path.parts:
                for number, words in breaks(path, path.read_text(), area == "tests"):
                    yield path.relative_to(root), number, words


def recorded(root):
    rows = (line.split() for line in (root / "tests/repo/english.txt").read_text().splitlines() if line and not line.startswith("#"))
    return {area: int(count) for area, count in rows}


def compare(found, bounds):
    """A sentence for each area whose count has risen, and one for each where the bound can fall."""
    risen = [f"{area}: {found[area]} places break the rule of English, and {bounds.get(area, 0)} did" for area in found if found[area] > bounds.get(area, 0)]
    fallen = [f"{area}: {found[area]} places, {bounds[area]} recorded" for area in found if found[area] < bounds.get(area, 0)]
    return risen, fallen


def main():
    root = Path(sys.argv[1]).resolve()
    if "--list" in sys.argv:
        for area in sys.argv[sys.argv.index("--list") + 1:] or AREAS:
            for path, number, words in places(root, area):
                print(f"{path}:{number}: {words}")
        return 0
    found = {area: sum(1 for _ in places(root, area)) for area in AREAS}
    bounds = recorded(root)
    if "--record" in sys.argv and sum(found.values()) <= sum(bounds.values()):
        table = root / "tests/repo/english.txt"
        head = [line for line in table.read_text().splitlines() if line.startswith("#")]
        table.write_text("\n".join(head + [f"{area} {count}" for area, count in found.items()]) + "\n")
        bounds = found
    risen, fallen = compare(found, bounds)
    print("\n".join(risen + fallen) or "as recorded")
    if risen:
        print("check_english.py ROOT --list AREA names them; the rule is in CONTRIBUTING.md")
    elif fallen:
        print("lower the record: check_english.py ROOT --record")
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main())
