"""The first step of the exercise of lesson 00: what it does is drawn, and what was not begun is no mistake.

Usage: test_first_step.py ISOBAR_CLI.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent.parent
LESSON = "00_sgd"
GAP = "  // YOU: The gradient points uphill: move slope and intercept the other way.\n"
STEP = "  line.slope -= lr * gradient.slope;\n  line.intercept -= lr * gradient.intercept;\n"
DRAWN, DONE = "What your first step does:", "First step done; next: average() makes the mean"


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="isobar-test-") as name:
        my = Path(name) / "my"
        environment = {**os.environ, "ISOBAR_HOME": str(HOME), "ISOBAR_MY": str(my), "ISOBAR_PROGRESS": f"{name}/progress.jsonl",
                       "COLUMNS": "200", "LC_ALL": "C.UTF-8", "TERM": "xterm"}

        def run(what, words, code, has, hasnt=(), **more):
            ended = subprocess.run([program, *words], env={**environment, **more}, capture_output=True, text=True)
            said = " ".join((ended.stdout + ended.stderr).split())
            wrong = [text for text in has if text not in said] + [text for text in hasnt if text in said]
            if ended.returncode != code or wrong:
                sys.exit(f"{what}: exit code {ended.returncode}, {wrong}: {said}")
            print(f"{what}: as wanted")
            return ended.stdout

        run("the exercise", ("exercise", LESSON), 0, ["first, about 3 minutes: take_step alone"])
        run("its lesson", ("learn", LESSON), 0, ["build: its first step takes 3 minutes: ./isobar exercise 00_sgd"])
        file, = my.glob("00_*.cpp")
        skeleton = file.read_text()
        if GAP not in skeleton:
            sys.exit(f"no such gap in {skeleton}")
        run("nothing yet", ("check", LESSON), 1, ["[!] one step downhill", "hint 1/"], [DRAWN, DONE])
        file.write_text(skeleton.replace(GAP, STEP.replace("-=", "+=")))
        run("uphill", ("check", LESSON), 1, ["that was a step uphill"], [DRAWN, DONE])
        done = skeleton.replace(GAP, STEP)
        file.write_text(done)
        words = ["[x] one step downhill", "[ ] average()", DRAWN, "after 60 steps: slope 1.96", DONE]
        scolds = ["[!]", "expected", "hint 1/"]
        run("the step", ("check", LESSON), 1, [*words, "\u28ff", "\u25cb start"], scolds)
        drawn = json.loads(run("its picture", ("check", LESSON, "--json"), 1, [], ISOBAR_PICTURES="ascii"))["picture"]
        if "O start" not in drawn or not drawn.isascii() or max(map(len, drawn.splitlines())) > 80:
            sys.exit(f"not in ASCII, or too wide: {drawn}")
        run("for one who listens", ("check", LESSON), 1, words, [*scolds, "\u28ff", "start,"], ISOBAR_PICTURES="words")
        run("a hint for the next", ("check", LESSON, "--hint"), 1, ["[ ] average()", "hint 1/4"], ["[!]", "expected", DRAWN])
        file.write_text(done.replace("  // YOU: Add up", "  group.size();\n  // YOU: Add up"))
        run("the next was begun", ("check", LESSON), 1, ["[!] average()", "expected the mean over 2 ranks"], [DONE, DRAWN])
        (my / file.name).write_text((HOME / "lessons" / LESSON / "exercise" / "ranks.cpp").read_text())
        run("all of it", ("check", LESSON), 0, [DRAWN, "All of it holds."], [DONE, "[!]"])
        run("the solution, unasked for", ("check", LESSON, "--solution"), 0, ["to the solution"])
        run("no gap is left", ("exercise", LESSON), 0, [f"yours, as it was: {file}:1 "])
        run("built alone but for a hint", ("learn", LESSON), 0, ["[x] built (with 1 hint)"], ["with the solution", "its first step"])


main()
