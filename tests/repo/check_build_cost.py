"""What a build and a small change cost to compile, without a clock.

Usage: check_build_cost.py BUILD SOURCE. Counts the units that a command compiles and the bytes that the compiler reads for them (the sizes of the
files that each unit includes, as the compiler listed them; what a precompiled header holds counts once), and the units that a one-line change
compiles again. Prints each figure with its bound, and exits with 1 when one is exceeded. build_ledger.py shows the seconds.
"""
import re
import subprocess
import sys
from pathlib import Path

# What a command compiles: the targets that it builds, and the most units and megabytes, with the headers of GCC 12 (Debian 12) and of later ones
# (Debian 13), which are larger. Each lesson beyond the LESSONS may add A_LESSON, which is some 30 processor seconds of ./isobar test.
LESSONS = 11
COMMANDS = {
    "./isobar run 01_baseline": (["isobar-run", "make_fields", "01_baseline"], 44, (105, 120)),
    "./isobar test": (["all"], 282, (680, 720)),
    "./isobar check of every lesson, and its --mine": (["isobar_exercises"], 56, (158, 174)),  # a check draws; isobar-cli does, too
}
A_LESSON = {"./isobar test": (14, 20), "./isobar check of every lesson, and its --mine": (6, 12)}
# A change of one line, and the most units that it compiles again.
CHANGES = {
    "lessons/01_baseline/main.cpp": 1,
    "lessons/06_ddp/main.cpp": 1,
    "lessons/06_ddp/exercise/checks.cpp": 1,
    "gui/panels/watch.cpp": 1,
    "engine/base/core/text.cpp": 1,
    "engine/training/train/adam.cpp": 1,
    "engine/training/comm/backends.cpp": 1,
    "engine/reading/analyse/verdict.cpp": 1,
    "tests/base/core/test_text.cpp": 1,
    "engine/base/core/error.h": 205,  # lessons 13 to 15, shares of states, memory and pipelines include it in twenty more
}


def ninja(build, *words):
    return subprocess.run(["ninja", "-C", str(build), *words], capture_output=True, text=True, check=True).stdout


def includes(build):
    """For each unit the files that it is made of."""
    found, unit, paths = {}, None, {}
    for line in ninja(build, "-t", "deps").splitlines():
        if match := re.match(r"(\S+): #deps", line):
            unit = found.setdefault(match.group(1), [])
        elif line.startswith("    "):
            if line not in paths:
                paths[line] = (build / line.strip()).resolve()
            unit.append(paths[line])
    return found


def is_gcc_12(build):
    told = next(build.glob("CMakeFiles/*/CMakeCXXCompiler.cmake")).read_text()
    return re.search(r'CMAKE_CXX_COMPILER_VERSION "(\d+)', told).group(1) == "12"


def units_of(build, targets):
    """Objects and precompiled headers that the targets need. The plugin comes where a GPU is."""
    for line in ninja(build, "-t", "commands", *targets).splitlines():
        match = re.search(r" -o (\S+\.(?:o|gch))(?= )", line)
        if match and " -c " in line and "isobar_cuda.dir" not in line and "/gpu/" not in line:
            yield match.group(1)


def main():
    build, source = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    failed = 0

    def say(what, figure, bound):
        nonlocal failed
        failed += figure > bound
        print(f"{'ok  ' if figure <= bound else 'FAIL'} {what}: {figure:,}, at most {bound:,}")

    files_of, sizes = includes(build), {}
    more = len(list((source / "lessons").glob("*/lesson.toml"))) - LESSONS
    units_by_command = {}
    for command, (targets, units_most, megabytes_most) in COMMANDS.items():
        units = units_by_command[command] = set(units_of(build, targets))
        for unit in units - files_of.keys():
            failed += 1
            print(f"FAIL {unit} was not built: is all of it?")
        read = 0
        for file in (file for unit in units for file in files_of.get(unit, [])):
            if file.suffix != ".gch":
                read += sizes.setdefault(file, file.stat().st_size)
        units_more, megabytes_more = A_LESSON.get(command, (0, 0))
        say(f"units that {command} compiles", len(units), units_most + more * units_more)
        say("megabytes that they include", round(read / 1e6), megabytes_most[not is_gcc_12(build)] + more * megabytes_more)
    everyday = units_by_command["./isobar test"]  # not what the night or a bench has built too
    for name, most in CHANGES.items():
        changed = [unit for unit, files in files_of.items() if unit in everyday and source / name in files]
        if not changed:
            failed += 1
            print(f"FAIL {name} is a part of no unit: is all of it built?")
        say(f"units that a change of {name} compiles", len(changed), most)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
