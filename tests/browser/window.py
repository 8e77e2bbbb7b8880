"""The window in a tab, with a project and runs of its own."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from chromium import Chromium, chromium_program, wait

EMPTY = "1970-01-01T00:00:00Z"


def needs(*programs):
    """ctest shows a test that says so as skipped."""
    for program in programs:
        path = os.environ["PATH"] + ":/usr/sbin"
        found = chromium_program() if program == "chromium" else shutil.which(program, path=path)
        if not found:
            print(f"skipped: {program} is not installed")
            sys.exit(0)


@contextmanager
def world(*flags):
    """A folder that goes again, and Chromium."""
    with tempfile.TemporaryDirectory(prefix="isobar-browser-", ignore_cleanup_errors=True) as name:
        with Chromium(name, *flags) as chromium:
            yield Path(name), chromium


def step_line(step, loss, step_us=1000):
    """One step, as a lesson writes it."""
    return json.dumps({"kind": "step", "step": step, "t_us": step_us * (step + 1), "epoch": step // 10, "samples": 4,
                       "load_us": step_us * 0.1, "forward_us": step_us * 0.3, "backward_us": step_us * 0.5,
                       "step_us": step_us, "lr": 1e-3, "loss": loss}) + "\n"


def write_run(folder, steps, ended=True, console="step 1\nstep 2\ndone\n"):
    """A run of lesson 01 on another machine; one without an end was written just now, so it counts as running."""
    folder.mkdir(parents=True)
    (folder / "run.toml").write_text("optim.lr = 0.001\n")
    (folder / "console.log").write_text(console)
    first = {"kind": "run", "schema": 1, "lesson": "01_baseline", "preset": "cpu_micro", "host": "elsewhere",
             "device": "cpu", "pid": 1, "wanted_steps": max(steps, 1000), "flops_per_sample": 1e9, "started": EMPTY}
    lines = [json.dumps(first) + "\n", *(step_line(i, 1 / (1 + i) ** 0.5) for i in range(steps))]
    if ended:
        lines.append(json.dumps({"kind": "end", "status": "done", "reason": ""}) + "\n")
    (folder / "rank-0000.jsonl").write_text("".join(lines))
    return folder


class Window:
    """isobar-browser; `home` is the project with a fake ./isobar that notes what it was asked for."""

    def __init__(self, program, project, folder, *words):
        self.folder, self.program, self.words = folder, str(Path(program).resolve()), words
        self.home = folder / "home"
        if not self.home.exists():
            self.home.mkdir()
            for part in Path(project).resolve().iterdir():
                if part.name not in ("isobar", "build", "runs"):
                    (self.home / part.name).symlink_to(part)
            self.asked = folder / "asked"
            isobar = self.home / "isobar"
            isobar.write_text(f"#!/bin/bash\nprintf '%s\\n' \"$@\" >'{self.asked}.part' && "
                              f"mv '{self.asked}.part' '{self.asked}'\n")
            isobar.chmod(0o755)
        self.asked = folder / "asked"
        (folder / "runs").mkdir(exist_ok=True)
        self.items_file = folder / "items.json"
        self.process = None
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGKILL)

    def start(self, *more):
        self.items_file.unlink(missing_ok=True)
        self.process = subprocess.Popen([self.program, "--items", str(self.items_file), *self.words, *more],
                                        cwd=self.folder, env=dict(os.environ, **self.places()),
                                        stdout=subprocess.PIPE, text=True)
        said = ""
        for line in self.process.stdout:
            said += line
            found = re.search(r"http://127\.0\.0\.1:(\d+)(/\w+/)\?token=\w+", line)
            if found:
                self.address, self.port, self.place = found.group(), int(found.group(1)), found.group(2)
                return
        raise SystemExit(f"no address was printed: {said}")

    def places(self):
        """Of the environment: what is the project, and where this person's files lie."""
        return {"XDG_CONFIG_HOME": str(self.folder / "config"), "ISOBAR_HOME": str(self.home),
                "ISOBAR_PROGRESS": str(self.folder / "progress.jsonl")}

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait()
        self.process.stdout.close()

    def items(self):
        """Places of the last frame, by name: left, top, right, bottom, and what stands in a field."""
        try:
            return json.loads(self.items_file.read_text())
        except (OSError, ValueError):
            return {}

    def box(self, name):
        return wait(f"the widget {name!r}", lambda: self.items().get(name), lambda: sorted(self.items()))

    def middle(self, name):
        x, y, right, below = self.box(name)[:4]
        return (x + right) / 2, (y + below) / 2

    def point_at(self, page, name):
        """Moves there, until a frame was drawn in which it stands still."""
        place = None
        while place != self.middle(name):
            place, before = self.middle(name), os.stat(self.items_file).st_mtime_ns
            page.move(place[0] + 1, place[1])
            page.move(*place)
            wait(f"a frame with {name!r}", lambda: os.stat(self.items_file).st_mtime_ns != before)
        return place

    def click(self, page, name):
        place = self.point_at(page, name)
        page.press(*place)
        page.release(*place)

    def until(self, what, condition):
        return wait(what, lambda: condition(self.items()), lambda: sorted(self.items()))

    def type(self, page, name, words):
        self.click(page, name)
        page.key("a", "KeyA", 65, 2)
        page.type(words)
        wait(f"{words!r} in {name!r}", lambda: self.words_in(name) == words, lambda: self.words_in(name))

    def words_in(self, field):
        return self.items().get(field, [""])[-1]


def no_complaints(page):
    """Nothing in the console: no error of the script, nothing that the content policy held back."""
    page.chromium.listen()
    assert not page.console, page.console
