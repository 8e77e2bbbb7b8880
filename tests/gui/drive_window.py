"""Drives the real window with a real mouse and keyboard, under a display in memory.

Usage: with_display.sh 1280x900 python3 drive_window.py ISOBAR_GUI PROJECT
From a click to a finished run of lesson 01, then the picture of the window is checked; then a run goes on unharmed
when its window is killed.
"""
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "tab"))
from program import left_s, wait

SERIES_1 = (0x56, 0xB4, 0xE9)  # training loss on a dark ground


def read_png(path):
    """Rows of RGBA bytes of a PNG file of 8 bits a channel."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    place, packed, width, height = 8, b"", 0, 0
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place:place + 8])
        body = data[place + 8:place + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert (depth, colour) == (8, 6), "not RGBA"
        packed += body if kind == b"IDAT" else b""
        place += 12 + length
    raw, rows, before = zlib.decompress(packed), [], bytes(4 * width)
    for y in range(height):
        kind, *line = raw[y * (4 * width + 1):(y + 1) * (4 * width + 1)]
        row = bytearray(line)
        for i in range(len(row)):
            left, up, corner = row[i - 4] if i > 3 else 0, before[i], before[i - 4] if i > 3 else 0
            if kind == 1:
                row[i] = row[i] + left & 255
            elif kind == 2:
                row[i] = row[i] + up & 255
            elif kind == 3:
                row[i] = row[i] + (left + up) // 2 & 255
            elif kind == 4:
                guess = left + up - corner
                near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))
                row[i] = row[i] + near[2] & 255
        rows.append(bytes(row))
        before = rows[-1]
    return rows


class Window:
    def __init__(self, program, project, folder):
        self.items_file = folder / "items.json"
        environment = dict(os.environ, XDG_CONFIG_HOME=str(folder / "config"), ISOBAR_HOME=str(project),
                           ISOBAR_PROGRESS=str(folder / "progress.jsonl"))
        self.process = subprocess.Popen([program, "runs", "--size", "1280x900", "--theme", "dark",
                                         "--lesson", "01_baseline", "--items",
                                         str(self.items_file)], cwd=folder, env=environment)
        wait("the first frame", self.items)
        identity = wait("the window", lambda: self.xdotool("search", "--name", "^Isobar$").split())[0]
        self.xdotool("windowfocus", identity)
        self.told = self.heard()

    def xdotool(self, *words):
        return subprocess.run(["xdotool", *words], capture_output=True, text=True).stdout

    def items(self):
        try:
            return json.loads(self.items_file.read_text())
        except (OSError, ValueError):
            return {}

    def click(self, name):
        # Once it stands, in a frame that knows of the mouse, where the mouse was moved.
        place = None
        while place is None or self.place_of(name) != place:
            place, seen = self.place_of(name), self.written()
            self.xdotool("mousemove", *place)
            self.xdotool("mousemove_relative", "1", "0")  # news also where it stood already
            wait(f"a frame with {name!r}", lambda: self.written() != seen)
        self.tell(2, "click", "1")

    def heard(self):
        """Buttons and keys, up and down, whose frames are drawn."""
        return self.items().get("", 0)

    def tell(self, events, *words):
        """Until their frames are drawn. Events that the display loses are given up after a while."""
        end = time.monotonic() + 10
        self.xdotool(*words)
        while self.heard() < self.told + events and time.monotonic() < end:
            time.sleep(0.02)
        self.told = self.heard()

    def place_of(self, name):
        box = wait(f"the widget {name!r}", lambda: self.items().get(name))
        return str(int((box[0] + box[2]) / 2)), str(int((box[1] + box[3]) / 2))

    def written(self):
        return os.stat(self.items_file).st_mtime_ns

    def type(self, name, words):
        """Until the field shows the words: a display in memory on a busy machine loses keys."""
        shown = lambda: self.items().get(name, [""])[-1]
        while left_s() > 0:
            self.click(name)
            self.tell(4, "key", "ctrl+a")
            self.tell(2 * len(words), "type", words)
            if shown() == words:
                return
        raise SystemExit(f"{name!r} shows {shown()!r} and not {words!r}")

    def picture(self):
        shot = Path(str(self.items_file) + ".png")
        shot.unlink(missing_ok=True)
        Path(str(self.items_file) + ".shoot").write_text("")
        wait("the picture", shot.exists)
        return read_png(shot)


def events(run):
    """Whole lines only: the run may be writing."""
    text = (run / "rank-0000.jsonl").read_text()
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


def runs_in(folder):
    return sorted((folder / "runs").glob("01_baseline-*/rank-0000.jsonl"))


def ended(run):
    lines = events(run)
    return lines and lines[-1]["kind"] == "end" and lines


def state_of(run):
    """What a person would look at first when a run does not end."""
    ours = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text().replace("\0", " ")
            if "isobar" in words or "01_baseline" in words:
                waits = (process / "wchan").read_text()
                ours.append(f"{process.name} {(process / 'stat').read_text().split()[2]} {waits} {words[:200]}")
        except OSError:
            pass  # it ended meanwhile
    last = [json.dumps(line)[:300] for line in events(run)[-3:]]
    return "\n".join(["", *(str(path) for path in sorted(run.iterdir())), *last, *ours])


def start_run(window, steps):
    window.type("filter keys", "train.steps")
    window.type("set train.steps", str(steps))
    window.click("Start")


def count_colour(rows, box, colour):
    found = 0
    for y in range(int(box[1]), int(box[3])):
        row = rows[y][4 * int(box[0]):4 * int(box[2])]
        found += sum(1 for i in range(0, len(row), 4) if tuple(row[i:i + 3]) == colour)
    return found


def main():
    program, project = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory(prefix="isobar-window-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        window = Window(program, project, folder)
        window.click("Settings")
        window.click("preset")
        window.click("cpu_micro")
        start_run(window, 60)
        first = wait("a run folder", lambda: runs_in(folder))[0].parent
        lines = wait("its end", lambda: ended(first), lambda: state_of(first))
        assert lines[-1]["status"] == "done", lines[-1]
        assert sum(line["kind"] == "step" for line in lines) == 60
        wait("the window to show the end", lambda: "Run" in window.items())
        wait("the plot", lambda: "loss" in window.items())
        blue = wait("40 pixels of the loss curve", lambda: (
            pixels := count_colour(window.picture(), window.items()["loss"], SERIES_1)) > 40 and pixels)
        print(f"a click started a run of 60 steps; its loss curve is drawn with {blue} pixels")

        # The window dies while a run goes on; the run ends as one without a window does.
        start_run(window, 200)
        second = wait("the second run folder", lambda: [r for r in runs_in(folder) if r.parent != first])[0].parent
        wait("some steps", lambda: sum(line["kind"] == "step" for line in events(second)) > 5)
        window.process.send_signal(signal.SIGKILL)
        window.process.wait()
        assert events(second)[-1]["kind"] != "end", "the run was too short for this test"
        last = wait("the end without a window", lambda: ended(second), lambda: state_of(second))[-1]
        assert last["status"] == "done", last
        alone = subprocess.run([str(project / "isobar"), "run", "01_baseline", "--preset", "cpu_micro", "--set",
                                "train.steps=200", "--run-dir", "alone"], cwd=folder, capture_output=True, text=True)
        assert alone.returncode == 0, alone.stderr
        losses = [[(line["kind"], line["step"], line.get("loss")) for line in events(run)
                   if line["kind"] in ("step", "eval")] for run in (second, folder / "alone")]
        assert losses[0] == losses[1], "the losses differ from those of a run without a window: " + ", ".join(
            f"{a} and {b}" for a, b in zip(*losses) if a != b)[:500] + "\n" + "\n".join(
            json.dumps(events(run)[0]) for run in (second, folder / "alone"))
        print(f"the window was killed; {len(losses[0])} losses equal those of a run without it, to the last bit")


if __name__ == "__main__":
    main()
