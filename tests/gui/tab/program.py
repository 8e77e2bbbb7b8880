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
FRAME, TEXTURE, FORGET, WORDS, COPIED, TEXTS, BEAT, VISIT, OVER = range(1, 10)


def wait(what, condition, state=lambda: "nothing known"):
    while time.monotonic() < END:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise SystemExit(f"waited in vain for {what}: {state()}")


def step_line(step):
    return json.dumps({"kind": "step", "step": step, "t_us": 1000 * (step + 1), "epoch": 0, "samples": 4, "load_us": 100, "forward_us": 300,
                       "backward_us": 500, "step_us": 1000, "lr": 1e-3, "loss": 1 / (1 + step)}) + "\n"


def write_run(folder, name, steps=100):
    """A run that is going on."""
    run = folder / "runs" / name
    (run / "fields").mkdir(parents=True)
    (run / "run.toml").write_text("optim.lr = 0.001\n")
    head = {"kind": "run", "schema": 1, "lesson": "01_baseline", "preset": "cpu_micro", "host": "elsewhere", "device": "cpu", "pid": 1,
            "wanted_steps": 1000, "flops_per_sample": 1e9, "started": "2026-11-20T10:00:00Z"}
    plan = {"kind": "note", "text": "plan", "steps_per_epoch": 10}
    (run / "rank-0000.jsonl").write_text(json.dumps(head) + "\n" + json.dumps(plan) + "\n" + "".join(map(step_line, range(steps))))
    (run / "console.log").write_text("step 1\n")
    return run


def append_step(run, step):
    with (run / "rank-0000.jsonl").open("a") as file:
        file.write(step_line(step))


class Program:
    """The project is seen through a home whose `isobar` keeps its words and does nothing."""

    def __init__(self, program, project, folder, *words):
        self.folder, home = folder, folder / "home"
        if not home.exists():
            home.mkdir(parents=True)
            for entry in project.iterdir():
                if entry.name not in ("isobar", "build", "runs", "my"):
                    (home / entry.name).symlink_to(entry)
            self.stand_in(home / "isobar", "arguments")
            for name in ("xdg-open", "editor"):
                self.stand_in(folder / "bin" / name, "opened")
        (folder / "runs").mkdir(exist_ok=True)
        self.items_file = folder / "items.json"
        environment = dict(os.environ, XDG_CONFIG_HOME=str(folder / "config"), ISOBAR_HOME=str(home), ISOBAR_PREFIX=str(folder / "prefix"),
                           ISOBAR_PROGRESS=str(folder / "progress.jsonl"), VISUAL=str(folder / "bin/editor"), PATH=f"{folder / 'bin'}:{os.environ['PATH']}")
        self.process = subprocess.Popen([program, "runs", "--lesson", "01_baseline", "--items", str(self.items_file), *words], cwd=folder,
                                        env=environment, stdout=subprocess.PIPE, text=True)
        self.said = ""
        while "Ctrl-C" not in self.said:
            line = self.process.stdout.readline()
            assert line, f"it ended with {self.process.wait()} after: {self.said}"
            self.said += line
        port, self.entry = re.search(r"http://127\.0\.0\.1:(\d+)(/[0-9a-f]+/\?token=[0-9a-f]+)\n", self.said).groups()
        self.port = int(port)
        self.place = folder / words[words.index("--socket") + 1] if "--socket" in words else self.port
        self.target = self.entry.split("?")[0]

    def stand_in(self, file, list_of_words):
        file.parent.mkdir(exist_ok=True)
        kept = self.folder / list_of_words
        file.write_text(f"#!/bin/bash\nprintf '%s\\n' \"$@\" >'{kept}.part' && mv '{kept}.part' '{kept}'\n")
        file.chmod(0o700)

    def client(self):
        return Client(self.place)

    def cookie(self):
        return tab_client.enter(self.place, self.entry)

    def items(self):
        try:
            return json.loads(self.items_file.read_text())
        except (OSError, ValueError):
            return {}

    def memory(self):
        """Bytes of it that lie in memory."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        assert self.process.wait(timeout=60) == 0, f"it ended with {self.process.returncode}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


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
        elif payload[0] not in (TEXTURE, FORGET):
            self.others.append(payload)
        return True

    def until(self, what, condition):
        while not condition():
            self.take(0.2)
            if time.monotonic() > END:
                raise SystemExit(f"waited in vain for {what}: {self.title!r}, {self.frames} frames, {self.heard[-20:]}")

    def settle(self):
        """Until it was still for a while; what is read later only makes more frames."""
        self.until("the first frame", lambda: self.frames > 0)
        while self.take(1.0):
            pass

    def click(self, name):
        """Where it stands, once that is known; and once the window knows of the pointer."""
        place = None
        while place is None or place != self.place_of(name):
            place = self.place_of(name)
            seen = os.stat(self.program.items_file).st_mtime_ns
            self.client.move(place[0] + 1, place[1])
            self.client.move(*place)
            self.until(f"a frame with {name!r}", lambda: os.stat(self.program.items_file).st_mtime_ns != seen)
            self.settle()
        self.client.button(*place, True)
        self.client.button(*place, False)
        self.settle()

    def place_of(self, name):
        self.until(f"the widget {name!r}", lambda: name in self.program.items())
        box = self.program.items()[name]
        return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
