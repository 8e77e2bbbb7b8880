"""What ./isobar check says of files that are no exercise: each gets its sentence, and exit code 1 or 2.

Usage: test_bad_files.py ISOBAR_CLI. By the exercise of lesson 02.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent.parent
LESSON = "02_workers"
FILE = "02_read_ahead.cpp"
INCLUDE = f'#include "{LESSON}/exercise/exercise.h"\n'
STUB = (INCLUDE + "namespace isobar::mine {\nstd::unique_ptr<exercise::BatchQueue> make_read_ahead(exercise::Fill, "
        "const exercise::QueueSetting&) {\n  return nullptr;\n}\n}\n")
FAILURES = []


def check(program, my, *words):
    environment = {**os.environ, "ISOBAR_MY": str(my), "ISOBAR_HOME": str(HOME), "COLUMNS": "200"}
    return subprocess.run([program, *(words or ("check", LESSON))], env=environment, capture_output=True, text=True, timeout=300)


def expect(what, ended, code, *texts):
    said = " ".join((ended.stdout + ended.stderr).split())
    for text in texts:
        if text not in said:
            FAILURES.append(f"{what}: nothing of \"{text}\" in: {said}")
    if ended.returncode != code:
        FAILURES.append(f"{what}: exit code {ended.returncode}, not {code}: {said}")
    print(f"{what}: exit code {ended.returncode}")


def files(program, my):
    def with_text(what, text, *texts):
        (my / FILE).write_text(text)
        expect(what, check(program, my), 1, *texts)
        if (my / FILE).read_text() != text:
            FAILURES.append(f"{what}: the learner's file was written")

    with_text("a semicolon is missing", STUB.replace("nullptr;", "nullptr"), "it does not compile: expected ‘;’", f"my/{FILE}:4:17",
              "4 | return nullptr")
    with_text("a name that nothing has", STUB.replace("nullptr", "quueue"), "‘quueue’ was not declared", f"my/{FILE}:4")
    with_text("an error deep in a header", STUB + "#include <vector>\nstatic std::vector<int&> references;\n", "it does not compile",
              f"my/{FILE}:8")
    with_text("a header that is not there", STUB + "#include <nothing_of_this_name>\n", "it does not compile", "nothing_of_this_name")
    with_text("a header of the engine", '#include "data/read_ahead.h"\n' + STUB, "it includes data/read_ahead.h", f"my/{FILE}:1")
    with_text("the solution", f'#include "{LESSON}/exercise/read_ahead.cpp"\n', "no part of the exercise")
    with_text("a main", STUB + "int main() { return 0; }\n", "it defines main")
    with_text("the function is not there", INCLUDE, "a function of exercise.h is missing: isobar::mine::make_read_ahead compiled")
    with_text("nothing at all", "", "a function of exercise.h is missing")
    with_text("a crash before main", STUB + "static int* null = nullptr;\nstatic const int first = *null;\n", "memory")


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="isobar-test-") as name:
        my = Path(name) / "my"
        expect("no file yet", check(program, my), 2, f"there is no {my}/{FILE}", f"./isobar exercise {LESSON} puts the skeleton there")
        expect("no such exercise", check(program, my, "check", "99"), 2, "99")
        expect("--watch without a terminal", check(program, my, "check", LESSON, "--watch"), 2, "terminal")
        expect("the skeleton", check(program, my, "exercise", LESSON), 0, "skeleton put into")
        expect("once more", check(program, my, "exercise", LESSON), 0, "yours, as it was")
        expect("as it was given", check(program, my), 1, "it is meant to fail", "hint 1/")
        expect("a hint", check(program, my, "check", LESSON, "--hint"), 1, "hint 2/")
        given = my / ".given" / FILE
        kept = given.read_text()
        for file in (my / ".given").iterdir():
            file.unlink()
        (my / ".given").rmdir()
        expect("a hint without what is kept", check(program, my, "check", LESSON, "--hint"), 1, "hint 1/")
        expect("one more", check(program, my, "check", LESSON, "--hint"), 1, "hint 2/")
        given.write_text(kept)
        for file in (given, my / FILE):
            file.write_text(file.read_text().replace("(edition ", "(edition 0").replace("// YOU: Start", "// YOU: Begin"))
        expect("an older edition", check(program, my), 1, "The exercise has changed since you began", "+ // YOU: Start", "- // YOU: Begin")
        files(program, my)
        (my / FILE).unlink()
        (my / FILE).mkdir()
        expect("a folder in its place", check(program, my), 2, FILE)
    print("\n".join(FAILURES) or "all as wanted")
    sys.exit(1 if FAILURES else 0)


main()
