"""isobar-browser as a person starts it, with folders of its own, and tabs that speak to it."""
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import tab_client
from tab_client import Client, frame_head

END = time.monotonic() + 800  # ctest ends it at 900 s; here it says what was missing
FRAME, TEXTURE, FORGET, WORDS, COPIED, TEXTS, BEAT, VISIT, OVER, PROOF = range(1, 11)


def left_s():
    return END - time.monotonic()


def be_patient(more_s):
    global END
    END += more_s


def wait(what, condition, state=lambda: "nothing known"):
    while left_s() > 0:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise SystemExit(f"waited in vain for {what}: {state()}")


def step_line(step, loss=None):
    """One step, as a lesson writes it."""
    return json.dumps({"kind": "step", "step": step, "t_us": 1000 * (step + 1), "epoch": step // 10, "samples": 4, "load_us": 100,
                       "forward_us": 300, "backward_us": 500, "step_us": 1000, "lr": 1e-3, "loss": loss or 1 / (1 + step) ** 0.5}) + "\n"


def write_run(run, steps=100, ended=False, console="step 1\n"):
    """A run of lesson 01 on another machine; one without an end counts as running for the 180 s after each line."""
    run.mkdir(parents=True)
    (run / "run.toml").write_text("optim.lr = 0.001\n")
    head = {"kind": "run", "schema": 1, "lesson": "01_baseline", "preset": "cpu_micro", "host": "elsewhere", "device": "cpu", "pid": 1,
            "wanted_steps": 1000, "flops_per_sample": 1e9, "started": "2026-11-20T10:00:00Z"}
    plan = {"kind": "note", "text": "plan", "steps_per_epoch": 10}
    end = json.dumps({"kind": "end", "status": "done", "reason": ""}) + "\n" if ended else ""
    (run / "console.log").write_text(console)
    (run / "rank-0000.jsonl").write_text(json.dumps(head) + "\n" + json.dumps(plan) + "\n" + "".join(map(step_line, range(steps))) + end)
    return run


def append_step(run, step, loss=None):
    with (run / "rank-0000.jsonl").open("a") as file:
        file.write(step_line(step, loss))


def stand_in(file, kept):
    """A program that keeps its words, and what it was handed open, and does nothing."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/bash\nreadlink /proc/$$/fd/* >'{kept}.open'\nprintf '%s\\n' \"$@\" >'{kept}.part' && mv '{kept}.part' '{kept}'\n")
    file.chmod(0o700)


class Program:
    """The project is seen through a home whose `isobar` keeps its words and does nothing."""

    def __init__(self, program, project, folder, *words):
        self.folder, self.home, self.program, self.words = folder, folder / "home", str(Path(program).resolve()), words
        if not self.home.exists():
            self.home.mkdir(parents=True)
            for entry in Path(project).resolve().iterdir():
                if entry.name not in ("isobar", "build", "runs", "my"):
                    (self.home / entry.name).symlink_to(entry)
            stand_in(self.home / "isobar", folder / "arguments")
            for name in ("xdg-open", "editor"):
                stand_in(folder / "bin" / name, folder / "opened")
        (folder / "runs").mkdir(exist_ok=True)
        self.arguments, self.items_file = folder / "arguments", folder / "items.json"
        self.start()

    def places(self):
        """Of the environment: what is the project, and where this person's files lie."""
        return {"XDG_CONFIG_HOME": str(self.folder / "config"), "ISOBAR_HOME": str(self.home), "ISOBAR_PREFIX": str(self.folder / "prefix"),
                "ISOBAR_PROGRESS": str(self.folder / "progress.jsonl"), "VISUAL": str(self.folder / "bin/editor"),
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

    def start(self, *more):
        self.items_file.unlink(missing_ok=True)
        self.inputs_before = Client.inputs
        self.process = subprocess.Popen([self.program, "--items", str(self.items_file), *self.words, *more], cwd=self.folder,
                                        env=dict(os.environ, **self.places()), stdout=subprocess.PIPE, text=True)
        self.said = ""
        while "Ctrl-C" not in self.said:
            line = self.process.stdout.readline()
            if not line:
                raise ChildProcessError(f"it ended with {self.process.wait()} after: {self.said}")
            self.said += line
        port, self.entry = re.search(r"http://127\.0\.0\.1:(\d+)(/[0-9a-f]+/\?token=[0-9a-f]+)\n", self.said).groups()
        self.port = int(port)
        self.place = self.folder / self.words[self.words.index("--socket") + 1] if "--socket" in self.words else self.port
        self.target = self.entry.split("?")[0]

    def client(self):
        return Client(self.place)

    def cookie(self):
        return tab_client.enter(self.place, self.entry)

    def items(self):
        """Places of the last frame, by name: left, top, right, bottom, and what stands in a field."""
        try:
            return json.loads(self.items_file.read_text())
        except (OSError, ValueError):
            return {}

    def shown(self):
        """Inputs whose frames are drawn."""
        return self.items().get("", -1)

    def drawn(self):
        """Another after each frame."""
        return os.stat(self.items_file).st_mtime_ns

    def memory(self):
        """Bytes of it that lie in memory."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        assert self.process.wait(timeout=300) == 0, f"it ended with {self.process.returncode}"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.process.stdout.close()


class Tab:
    """A page that draws all it is sent."""

    def __init__(self, program, width=1288, height=904, scale=1.0, cookie=None):
        self.program, self.client = program, program.client()
        status = self.client.upgrade(program.target + "socket", cookie or program.cookie())
        assert status == 101, status
        self.frames, self.beats, self.size, self.title, self.summary, self.texts, self.others = 0, 0, (0, 0), "", "", [], []
        self.heard = []  # kinds since somebody emptied it
        self.client.hello(width, height, scale)

    def take(self, wait_s):
        """One message, or False where none came for so long."""
        self.client.socket.settimeout(wait_s)
        try:
            opcode, payload = self.client.receive()
        except (TimeoutError, BlockingIOError):
            return False
        assert opcode == 2, opcode
        self.heard.append(payload[0])
        if payload[0] == FRAME:
            number, _, *self.size = frame_head(payload)
            self.frames += 1
            self.client.drawn(number)
        elif payload[0] == BEAT:
            self.beats += 1
            self.client.send(bytes([13]))
        elif payload[0] == WORDS:
            reader = tab_client.Reader(payload[1:])
            self.title, self.summary = reader.words(), reader.words()
        elif payload[0] == TEXTS:
            reader = tab_client.Reader(payload[1:])
            self.texts = [reader.text() for _ in range(reader.number())]
        elif payload[0] not in (TEXTURE, FORGET, PROOF):
            self.others.append(payload)
        return True

    def until(self, what, condition):
        while not condition():
            self.take(0.2)
            if left_s() < 0:
                raise SystemExit(f"waited in vain for {what}: {self.title!r}, {self.frames} frames, {self.heard[-20:]}")

    def settle(self):
        """Until all frames are drawn that belong to what was typed and clicked."""
        self.until("what was typed and clicked", lambda: self.program.shown() >= Client.inputs - self.program.inputs_before)

    def until_closed(self, what):
        try:
            while left_s() > 0:
                self.take(1.0)
        except ConnectionError:
            return
        raise SystemExit(f"it was never closed: {what}")

    def click(self, name):
        """Where it stands, once that is known; and once the window knows of the pointer."""
        place = None
        while place is None or place != self.place_of(name):
            place = self.place_of(name)
            self.client.move(*place)
            self.settle()
        self.client.button(*place, True)
        self.client.button(*place, False)
        self.settle()

    def place_of(self, name):
        self.until(f"the widget {name!r}", lambda: name in self.program.items())
        box = self.program.items()[name]
        return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
