"""A scripted learner walks a lesson of `learn` on a terminal of 80 x 24: nothing is left unanswered, every goal shows a picture or the code, no
line is wider than the terminal, and what is left is offered again. No clock is looked at.

Usage: walk_lesson.py ISOBAR_CLI LESSON
"""
import codecs
import fcntl
import json
import os
import pty
import re
import struct
import sys
import tempfile
import termios
import unicodedata
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent.parent.parent
ASKS = "quit): "
BRAILLE = re.compile(r"[\u2801-\u28ff]")


class Learner:
    """Answers each prompt as soon as it stands there; `said` is all that was printed, without colours."""

    def __init__(self, words, environment, folder):
        self.said, self.answers = "", 0
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, environment)
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def walk(self, most):
        new, letters = "", codecs.getincrementaldecoder("utf-8")(errors="replace")
        while True:
            try:
                more = os.read(self.end, 65536)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            new += letters.decode(more)
            if not new.endswith(ASKS):
                continue
            self.said += new
            os.write(self.end, (self.answer(new) if self.answers < most else "q").encode() + b"\n")
            new = ""
        self.said = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", (self.said + new).replace("\r\n", "\n"))
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def answer(self, text):
        prompt = text[text.rindex("\n"):]
        if "(Enter = " in prompt:
            return ""
        self.answers += 1
        if "up, same or down" in prompt:
            return "up"
        if "a number" in prompt:
            return "4"
        if "a line of" in text[-300:]:
            return "40"
        return "skip" if "runs that show it" in text[-300:] else "a"


def columns(line):
    line = line.split("\r")[-1].rstrip()
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line)


def fail(what, said):
    sys.exit(f"{what}\n{said[-3000:]}")


def main():
    program, lesson = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix="isobar-test-") as name:
        environment = dict(os.environ, ISOBAR_HOME=str(HOME), ISOBAR_PROGRESS=f"{name}/progress.jsonl", ISOBAR_LEARNER="0", TERM="xterm-256color", LC_ALL="C.UTF-8")
        for variable in ("NO_COLOR", "ISOBAR_PICTURES"):
            environment.pop(variable, None)
        learner = Learner([program, "learn", lesson], environment, name)
        code = learner.walk(most=120)
        if code != 0:
            fail(f"exit code {code}", learner.said)
        if "cannot answer" in learner.said:
            fail("a question was left unanswered", learner.said)
        parts = re.split(r"== (Goal \d+ of \d+|Again)", learner.said)
        for title, text in zip(parts[1::2], parts[2::2]):
            if not BRAILLE.search(text) and not re.search(r"^  >\s+\d+  ", text, re.M):
                fail(f"{title} shows no picture", text)
        for line in learner.said.split("\n"):
            is_command = "./isobar" in line or "lessons/" in line  # they are copied whole
            if columns(line) > 80 and not is_command and not re.match(r"\s*[> ]\s*\d+  ", line):
                fail(f"{columns(line)} columns: {line}", "")
        if not any(part.startswith("Again") for part in parts):
            fail("wrong answers, and nothing is asked again", learner.said)
        kinds = [json.loads(line)["kind"] for line in open(f"{name}/progress.jsonl")]
        print(f"{lesson}: {kinds.count('reveal')} reveals, {len(parts) // 2} parts, each with a picture")


if __name__ == "__main__":
    main()
