"""What ./isobar check says of files that are no exercise: each gets its sentence, and exit code 1 or 2.

Usage: test_bad_files.py ISOBAR_CLI. By the exercise of lesson 05, whose file is compiled in the shortest time.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent.parent
LESSON = "05_fusion"
FILE = "05_bias_gelu.cpp"
INCLUDE = f'#include "{LESSON}/exercise/exercise.h"\n'
READ, WRITTEN = "std::span<const float>", "std::span<float>"
STUB = (INCLUDE + f"namespace isobar::mine {{\nvoid bias_gelu_forward({READ}, {READ}, {WRITTEN}) {{\n  float{{}};\n}}\n"
        f"void bias_gelu_backward({READ}, {READ}, {READ}, {WRITTEN}, {WRITTEN}) {{}} }}\n")
SOLUTION = (HOME / "lessons" / LESSON / "exercise" / "bias_gelu.cpp").read_text()
WRONG, WRONG_IS_TOLD = SOLUTION.replace("x[row + c] + bias[c];\n      y", "x[row + c];\n      y"), "which is gelu(x): the bias is missing"
FAILURES = []


def environment_of(my):
    (my.parent / "tmp").mkdir(exist_ok=True)
    return {**os.environ, "ISOBAR_MY": str(my), "ISOBAR_HOME": str(HOME), "ISOBAR_PROGRESS": f"{my.parent}/progress.jsonl", "COLUMNS": "200",
            "TMPDIR": str(my.parent / "tmp")}


def check(program, my, *words, **more):
    return subprocess.run([program, *(words or ("check", LESSON))], env={**environment_of(my), **more}, capture_output=True, text=True, timeout=300)


def left(my):
    return sorted(path.name for path in (my.parent / "tmp").rglob("*"))


def inside(lines):
    """The stub, whose function does this first."""
    return STUB.replace("float{};", lines)


def expect(what, ended, code, *texts):
    said = " ".join((ended.stdout + ended.stderr).split())
    for text in texts:
        if text not in said:
            FAILURES.append(f"{what}: nothing of \"{text}\" in: {said}")
    if ended.returncode != code:
        FAILURES.append(f"{what}: exit code {ended.returncode}, not {code}: {said}")
    print(f"{what}: exit code {ended.returncode}")


def files(program, my):
    def with_text(what, text, *texts, **more):
        (my / FILE).write_text(text)
        expect(what, check(program, my, **more), 1, *texts)
        if (my / FILE).read_text() != text:
            FAILURES.append(f"{what}: the learner's file was written")

    with_text("a semicolon is missing", STUB.replace("float{};", "float{}"), "it does not compile: expected ‘;’", f"my/{FILE}:4:10",
              "4 | float{}")
    with_text("a name that nothing has", STUB.replace("float{}", "flloat{}"), "‘flloat’ was not declared", f"my/{FILE}:4")
    with_text("an error deep in a header", STUB + "#include <vector>\nstatic std::vector<int&> references;\n", "it does not compile",
              f"my/{FILE}:8")
    with_text("a header that is not there", STUB + "#include <nothing_of_this_name>\n", "it does not compile", "nothing_of_this_name")
    with_text("a header of the engine", '#include "data/read_ahead.h"\n' + STUB, "it includes data/read_ahead.h", f"my/{FILE}:1")
    with_text("the solution", f'#include "{LESSON}/exercise/bias_gelu.cpp"\n', "no part of the exercise")
    with_text("a main", STUB + "int main() { return 0; }\n", "it defines main")
    with_text("the function is not there", INCLUDE, "a function of exercise.h is missing: isobar::mine::bias_gelu_forward compiled")
    with_text("nothing at all", "", "a function of exercise.h is missing")
    with_text("a crash before main", STUB + "static int* null = nullptr;\nstatic const int first = *null;\n", "only memory that is yours", f"my/{FILE}:8")
    with_text("an exit before main", SOLUTION + "#include <cstdlib>\nstatic struct Ends { Ends() { std::_Exit(0); } } ends;\n",
              "the program was ended with exit code 0")
    with_text("an exit where no check runs", WRONG + "#include <cstdlib>\n#include <filesystem>\nstatic struct Ends { Ends() {\n"
              "if (std::filesystem::current_path().filename().string().find(\"work\") != 0) std::_Exit(0); } } ends;\n", WRONG_IS_TOLD)
    with_text("what looks like a verdict", WRONG + "#include <cstdio>\nstatic struct Prints { Prints() {\n"
              "std::puts(R\"({\"kind\":\"check\",\"name\":\"bound\",\"holds\":true} and more)\"); std::fflush(stdout); } } prints;\n", WRONG_IS_TOLD)
    with_text("text that is no UTF-8", "#include <stdexcept>\n" + inside('throw std::runtime_error("A\\xff B");'),
              "the part threw one: A\ufffd B")
    with_text("memory that grows", "#include <vector>\n" + inside(
        "static std::vector<std::vector<char>> all; while (true) all.emplace_back(1 << 20, 1);"),
              "it took more than 1 GB of memory", f"my/{FILE}:5")
    with_text("files that grow", "#include <fstream>\n" + inside(
        "for (int i = 0;; ++i) std::ofstream(std::to_string(i % 9)) << std::string(9000000, 0);"),
              "it wrote more than 250 MB", f"my/{FILE}:5")
    with_text("a loop that sleeps", "#include <chrono>\n#include <thread>\n" + inside(
        "for (volatile bool done = false; !done;) std::this_thread::sleep_for(std::chrono::milliseconds(1));"),
        "the check to end within 1 s", "sleeps at", "what ends this loop", ISOBAR_CHECK_S="1")
    with_text("a loop that computes", inside("for (volatile bool done = false; !done;) {}"), "computes on and on at", "what ends this loop",
              ISOBAR_CHECK_S="1")
    expect("a limit that is none", check(program, my, ISOBAR_CHECK_S="long"), 1, 'ISOBAR_CHECK_S is "long", which is no number of seconds')
    with_text("the solution by a detour", f'/**/#include "{LESSON}/exercise/bias_gelu.cpp"\n', "it includes the solution")


def interrupted(program, my):
    """What is ended in the middle leaves nothing, at the latest after the next check."""
    (my / FILE).write_text("#include <fstream>\n" + inside('std::ofstream("its_file") << 1; while (true) {}'))
    for number in (signal.SIGINT, signal.SIGKILL):
        started = subprocess.Popen([program, "check", LESSON], env=environment_of(my), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while "its_file" not in left(my) and started.poll() is None:
            time.sleep(0.05)
        started.send_signal(number)
        started.wait()
        if number == signal.SIGINT and left(my):
            FAILURES.append(f"Ctrl-C leaves {left(my)}")
    (my / FILE).write_text(INCLUDE)
    check(program, my)
    if left(my):
        FAILURES.append(f"after a kill the next check leaves {left(my)}")


def links_and_folders(program, my):
    (my / FILE).unlink()
    (my / FILE).mkdir()
    expect("a folder in its place", check(program, my), 2, FILE)
    expect("all exercises beside it", check(program, my, "exercise"), 0, f"{my}/{FILE}", "not begun")
    (my / FILE).rmdir()
    (my / FILE).symlink_to(my.parent / "stick" / FILE)
    for words in (("exercise", LESSON), ("check", LESSON)):
        expect("a link whose target is away", check(program, my, *words), 1, f"{my.parent}/stick/{FILE}", "bring it back")
    expect("all exercises beside it", check(program, my, "exercise"), 0, f"{my}/{FILE}")
    if not (my / FILE).is_symlink():
        FAILURES.append("a link of the learner was replaced")


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="isobar-test-") as name:
        my = Path(name) / "my"
        expect("no file yet", check(program, my), 2, f"there is no {my}/{FILE}", f"./isobar exercise {LESSON} puts the skeleton there")
        expect("no such exercise", check(program, my, "check", "99"), 2, "99")
        expect("--watch without a terminal", check(program, my, "check", LESSON, "--watch"), 2, "terminal")
        expect("the skeleton", check(program, my, "exercise", LESSON), 0, "skeleton put into")
        expect("once more", check(program, my, "exercise", LESSON), 0, "yours, as it was")
        expect("the solution too early", check(program, my, "check", LESSON, "--solution"), 2, "after 3 checks", "3 checks to go", "--yes")
        expect("the solution all the same", check(program, my, "check", LESSON, "--solution", "--yes"), 0, "to the solution")
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
            file.write_text(file.read_text().replace("(edition ", "(edition 0").replace("// YOU: One pass", "// YOU: In one go"))
        expect("an older edition", check(program, my), 1, "The exercise has changed since you began", "+ // YOU: One pass", "- // YOU: In one go")
        files(program, my)
        interrupted(program, my)
        links_and_folders(program, my)
    print("\n".join(FAILURES) or "all as wanted")
    sys.exit(1 if FAILURES else 0)


main()
