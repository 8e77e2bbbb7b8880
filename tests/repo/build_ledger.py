"""What the build and the suite cost, by kind, folder and program, largest first.

Usage: build_ledger.py [BUILD] [--top N]. Reads what ninja and ctest wrote there (.ninja_log, Testing/Temporary/LastTest.log): seconds that each
command and each test lasted. With as many at once as there are processors, and nothing else at work, they are processor seconds; ccache makes them
small. A command that ran several times counts with its last time.
"""
import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

# The first that matches what a command makes.
KINDS = [
    ("precompiled headers", r"\.gch$|/cmake_pch\.hxx\.cxx\.o$|^cmake/precompiled/"),
    ("exercises", r"(^|/)(checks?|mine|part_of|test_exercise|versions)_\w*\.dir/|^engine/base/check/.*\.o$|^tests/exercises/"),
    ("fuzzers", r"^tests/fuzz/"),
    ("benches", r"^tests/bench/"),
    ("CUDA", r"/cuda/|\.cu\.o$|^tests/gpu/"),
    ("tests", r"^tests/.*\.o$"),
    ("window", r"^gui/.*\.o$"),
    ("engine", r"^(engine|datasets|CMakeFiles)/.*\.o$"),
    ("lessons", r"^lessons/.*\.o$"),
    ("links", r"^bin/|\.a$|\.so$"),
]


def kind_of(output):
    return next((kind for kind, pattern in KINDS if re.search(pattern, output)), "other")


def folder_of(output):
    """The folder of the sources: engine/base/core of engine/base/CMakeFiles/isobar_core.dir/core/text.cpp.o."""
    target = re.match(r"(.*?)/?CMakeFiles/([^/]+)\.dir/", output)
    return f"{target.group(1)} ({target.group(2)})" if target else str(Path(output).parent)


def ninja_commands(log):
    """(output, seconds) of each command, by the last time that it ran."""
    last = {}
    for line in log.read_text(errors="replace").splitlines():
        words = line.split("\t")
        if len(words) == 5 and not line.startswith("#"):
            begin, end, _, output, command = words
            last[output] = (int(begin), int(end), command)
    seen = set()
    for output, what in last.items():
        if what not in seen:  # a command with several outputs has a line for each
            seen.add(what)
            yield output, (what[1] - what[0]) / 1000


def tests_of(log):
    """(name, seconds) of the last call of ctest."""
    name = None
    for line in log.read_text(errors="replace").splitlines():
        if match := re.match(r"\d+/\d+ Test(?:ing)?: (\S+)$", line):
            name = match.group(1)
        elif name and (match := re.match(r"Test time = +([\d.]+) sec$", line)):
            yield name, float(match.group(1))
            name = None


def table(title, rows, top):
    """Rows are (name, seconds) and added up by name."""
    count, sums = defaultdict(int), defaultdict(float)
    for name, seconds in rows:
        count[name] += 1
        sums[name] += seconds
    total = sum(sums.values())
    print(f"\n{title}: {total:,.0f} s in {sum(count.values())}")
    largest = sorted(sums, key=sums.get, reverse=True)
    for name in largest[:top]:
        print(f"{sums[name]:9.1f} s {100 * sums[name] / (total or 1):5.1f} % {count[name]:5} {name}")
    if len(largest) > top:
        rest = sum(sums[name] for name in largest[top:])
        print(f"{rest:9.1f} s {100 * rest / total:5.1f} %       {len(largest) - top} others")


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("build", nargs="?", type=Path, default=Path(__file__).resolve().parents[2] / "build")
    words.add_argument("--top", type=int, default=25, help="rows of each table (default: 25)")
    asked = words.parse_args()
    built, tested = asked.build / ".ninja_log", asked.build / "Testing/Temporary/LastTest.log"
    if not built.is_file():
        sys.exit(f"build_ledger: {built} is not there: nothing was built in {asked.build}\n  hint: ./isobar test builds, and runs the suite")
    commands = list(ninja_commands(built))
    table("The build by kind", [(kind_of(output), seconds) for output, seconds in commands], 100)
    table("The build by folder and target", [(folder_of(output), seconds) for output, seconds in commands], asked.top)
    table("The build by command", commands, asked.top)
    if tested.is_file():
        table("The suite by test", tests_of(tested), asked.top)


if __name__ == "__main__":
    main()
