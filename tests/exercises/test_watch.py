"""./isobar check --watch at a terminal: it looks again after each save, and its keys do what the line below a verdict says.

Usage: test_watch.py ISOBAR_CLI. By the exercise of lesson 02, in a project whose ./isobar only says what it is asked for.
"""
import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent.parent
LESSON = "02_workers"
WAITS = "waiting for you to save"


class Terminal:
    def __init__(self, words, environment):
        self.said = ""
        self.pid, self.ends = pty.fork()
        if self.pid == 0:
            os.execvpe(words[0], words, environment)

    def until(self, text):
        """What was said up to this text, which begins the next answer's search."""
        while text not in self.said:
            try:
                more = os.read(self.ends, 4096)
            except OSError:  # the other end is closed
                more = b""
            if not more:
                sys.exit(f"ended without \"{text}\": {self.said}")
            self.said += more.decode(errors="replace").replace("\r", "")
        before, _, self.said = self.said.partition(text)
        return before

    def press(self, key):
        os.write(self.ends, key.encode())

    def quits(self, what, wanted):
        self.press("q")
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if code != wanted:
            sys.exit(f"q {what}: exit code {code}, not {wanted}")


def expect(what, said, *texts):
    for text in texts:
        if text not in said:
            sys.exit(f"{what}: nothing of \"{text}\" in: {said}")
    print(f"{what}: as wanted")


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="isobar-test-") as name:
        home, my = Path(name) / "home", Path(name) / "my"
        home.mkdir()
        (home / "lessons").symlink_to(HOME / "lessons")
        (home / "isobar").write_text("#!/bin/sh\necho \"asked for: $*\"\n")
        (home / "isobar").chmod(0o755)
        environment = {**os.environ, "ISOBAR_HOME": str(home), "ISOBAR_MY": str(my), "ISOBAR_PROGRESS": f"{name}/progress.jsonl",
                       "TERM": "dumb"}
        subprocess.run([program, "exercise", LESSON], env=environment, check=True, capture_output=True)
        file, = my.glob("02_*.cpp")
        skeleton = file.read_text()
        file.write_text("")
        words = [program, "check", LESSON, "--watch"]

        at = Terminal(words, environment)
        expect("at once", at.until(WAITS), "is missing")
        file.write_text(skeleton)
        expect("another file that was saved", at.until(WAITS), "hint 1/")
        at.press("s")
        expect("s too early", at.until(WAITS), "1 check to go", "--yes")
        at.press("h")
        expect("h", at.until(WAITS), "hint 2/")
        at.press("s")
        expect("s", at.until(WAITS), "to the solution")
        file.write_text((HOME / "lessons" / LESSON / "exercise" / "read_ahead.cpp").read_text())
        said = at.until(WAITS)
        if "hint 1/" in said:
            sys.exit(f"a solution that was saved gets a hint: {said}")
        print("a solution that was saved: as wanted")
        expect("the keys then", at.until("q quit"), "s solution, Enter or n begins 03_gpu_loader, ")
        at.quits("after all holds", 0)
        learned = subprocess.run([program, "learn", LESSON], env=environment, check=True, capture_output=True, text=True).stdout
        expect("what helped", learned, "[x] built (with the solution, 1 hint)")

        at = Terminal(words, environment)
        at.until(WAITS)
        at.press("\r")
        expect("Enter", at.until("--watch"), "asked for: exercise 03_gpu_loader", "asked for: check 03_gpu_loader")

        file.write_text("")
        at = Terminal(words, environment)
        at.until(WAITS)
        at.quits("before all holds", 1)

        at = Terminal(words, environment)
        at.until(WAITS)
        at.press("n")
        expect("n", at.until("--watch"), "asked for: exercise 03_gpu_loader", "asked for: check 03_gpu_loader")


main()
