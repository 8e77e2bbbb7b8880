"""What the first step and a small change cost to compile, without a clock.

Usage: check_build_cost.py BUILD SOURCE. Counts the bytes that the compiler reads for the first run of lesson 01 (the output of the
preprocessor, what is compiled once counted once), and the units that a one-line change compiles again. Prints each figure with its
bound, and exits with 1 when one is exceeded.
"""
import re
import shlex
import subprocess
import sys
from pathlib import Path

FIRST_RUN = ["isobar-run", "make_fields", "01_baseline"]
# A sixth of what it took when every file was compiled by itself, and readers and all commands before any lesson: 469,153,940 bytes in
# 271 units. Now it is 36 MB in 35.
MOST_BYTES = 469_153_940 // 6
# A change of one line, and the most units that it compiles again.
CHANGES = {
    "lessons/01_baseline/main.cpp": 2,
    "lessons/06_ddp/main.cpp": 2,
    "engine/base/core/text.cpp": 6,
    "engine/training/train/adam.cpp": 6,
    "engine/training/comm/backends.cpp": 6,
    "engine/reading/analyse/verdict.cpp": 6,
    "engine/base/core/error.h": 290,
}


def ninja(build, *words):
    return subprocess.run(["ninja", "-C", str(build), *words], capture_output=True, text=True, check=True).stdout


def compile_commands(build, targets):
    """Words of each compilation that the targets need."""
    for line in ninja(build, "-t", "commands", *targets).splitlines():
        line = line.split(" && ")[0] if line.startswith(": && ") else line
        words = shlex.split(line)
        if "-c" in words and not any("isobar_cuda.dir" in word for word in words):  # the plugin comes where a GPU is
            yield words[next(n for n, word in enumerate(words) if re.search(r"(g\+\+|c\+\+|gcc|cc|clang\+\+)(-\d+)?$", word)):]


def read_bytes(words):
    """Bytes that the compiler reads for one unit, without what its precompiled header holds."""
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        elif word not in ("-MD", "-c"):
            kept.append(word)
    whole = "c++-header" in words  # which is what is compiled once
    run = subprocess.run([*kept, "-E", *([] if whole else ["-fpch-preprocess"])], capture_output=True, check=True)
    return len(run.stdout)


def dependents(build):
    """For each file the units that it is a part of."""
    found, unit = {}, None
    for line in ninja(build, "-t", "deps").splitlines():
        match = re.match(r"(\S+): #deps", line)
        if match:
            unit = match.group(1)
        elif line.startswith("    "):
            path = (Path(build) / line.strip()).resolve()
            found.setdefault(path, set()).add(unit)
    return found


def main():
    build, source = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    failed = 0

    def say(what, figure, bound):
        nonlocal failed
        failed += figure > bound
        print(f"{'ok  ' if figure <= bound else 'FAIL'} {what}: {figure:,}, at most {bound:,}")

    units = list(compile_commands(build, FIRST_RUN))
    say("bytes that the first run compiles", sum(read_bytes(words) for words in units), MOST_BYTES)
    print(f"     in {len(units)} units")
    users = dependents(build)
    for name, most in CHANGES.items():
        changed = users.get(source / name, set())
        if not changed:
            failed += 1
            print(f"FAIL {name} is a part of no unit: is all of it built?")
        say(f"units that a change of {name} compiles", len(changed), most)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
