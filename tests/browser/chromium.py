"""Chromium without a display, told what to do over --remote-debugging-pipe; Python's standard library is enough."""
import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "gui/tab"))
from program import FRAME, left_s, wait

# Mesa draws, as it does the window's own picture: a triangle's edges fall on the same pixels.
MESA = ["--use-gl=angle", "--use-angle=gl-egl", "--ignore-gpu-blocklist"]


def chromium_program():
    return next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)


class Chromium:
    def __init__(self, folder):
        home = Path(folder) / "chromium"
        home.mkdir()
        # Chromium reads file descriptor 3 and writes 4; ours have numbers out of their way.
        (words_in, self.words_out), (self.words_back, words_from) = (
            [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in os.pipe()] for _ in range(2))
        program = [chromium_program(), "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={home}",
                   "--no-first-run", "--disable-background-networking", "--disable-component-update",
                   "--disable-sync", "--force-color-profile=srgb", "--hide-scrollbars",
                   "--no-sandbox", "--disable-dev-shm-usage", *MESA, "about:blank"]  # as containers need it
        self.log = home / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                ["bash", "-c", f'exec 3<&{words_in} 4>&{words_from} {words_in}<&- {words_from}>&-; exec "$@"', "-",
                 *program], pass_fds=(words_in, words_from), stdout=log, stderr=log, start_new_session=True,
                env=dict(os.environ, HOME=str(home), LIBGL_ALWAYS_SOFTWARE="1"))
        os.close(words_in)
        os.close(words_from)
        self.bytes, self.asked, self.pages = b"", 0, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def hear(self, timeout_s):
        """One message, or None."""
        while b"\0" not in self.bytes:
            if not select.select([self.words_back], [], [], timeout_s)[0]:
                return None
            more = os.read(self.words_back, 1 << 20)
            if not more:
                raise SystemExit("Chromium ended:\n" + self.log.read_text()[-2000:])
            self.bytes += more
        message, self.bytes = self.bytes.split(b"\0", 1)
        message = json.loads(message)
        if "method" in message and message.get("sessionId") in self.pages:
            self.pages[message["sessionId"]].happened(message)
        return message

    def listen(self, seconds=0.0):
        """Takes what was said meanwhile, and goes on for so long."""
        end = time.monotonic() + seconds
        while self.hear(max(0.0, end - time.monotonic())) is not None or time.monotonic() < end:
            pass

    def call(self, method, session=None, **parameters):
        self.asked += 1
        number = self.asked
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.words_out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.hear(max(1.0, left_s()))
            if answer is None:
                raise SystemExit(f"Chromium does not answer {method}")
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def page(self, address="about:blank", size=(1440, 900), scale=1.0, **how):
        """In front of all others, which are hidden then, but for `background=True` or `newWindow=True`."""
        return Page(self, address, size, scale, how)

    def compare(self, one, other):
        """Two PNG files by the eyes of a page of its own: size, pixels off by more than 2 of 255, the most that
        one is off, and where most of them lie."""
        if not hasattr(self, "judge"):
            self.judge = self.page(background=True)
        words = ", ".join(f'"{base64.b64encode(picture).decode()}"' for picture in (one, other))
        return self.judge.run(f"({COMPARE})({words})")


COMPARE = """async (...files) => {
  const [p, q] = await Promise.all(files.map(async (file) => {
    const blob = await (await fetch('data:image/png;base64,' + file)).blob();
    const picture = await createImageBitmap(blob, { colorSpaceConversion: 'none' });
    const context = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
    context.drawImage(picture, 0, 0);
    return context.getImageData(0, 0, picture.width, picture.height);
  }));
  if (p.width !== q.width || p.height !== q.height) return { sizes: [p.width, p.height, q.width, q.height] };
  let off = 0, most = 0;
  const places = {};
  for (let i = 0; i < p.data.length; i += 4) {
    let by = 0;
    for (let k = i; k < i + 3; ++k) by = Math.max(by, Math.abs(p.data[k] - q.data[k]));
    most = Math.max(most, by);
    if (by <= 2) continue;
    ++off;
    const x = i / 4 % p.width >> 5, y = Math.floor(i / 4 / p.width) >> 5, place = `${x * 32},${y * 32}`;
    places[place] = (places[place] ?? 0) + 1;
  }
  const worst = Object.entries(places).sort((a, b) => b[1] - a[1]).slice(0, 4);
  return { width: p.width, height: p.height, off, most, worst };
}"""


class Page:
    """A tab, and what happened in it: its console, what it asked the network for, what came over its sockets."""

    def __init__(self, chromium, address, size, scale, how):
        self.chromium = chromium
        self.target = chromium.call("Target.createTarget", url="about:blank", **how)["targetId"]
        self.session = chromium.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        chromium.pages[self.session] = self
        self.console, self.requests, self.heard, self.said = [], [], [], []
        self.sockets, self.socket, self.newest = 0, "", 0  # how many there were, the last, and the frames over that
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(size, scale)
        if address != "about:blank":
            self.go(address)

    def happened(self, message):
        method, what = message["method"], message["params"]
        if method == "Log.entryAdded":
            self.console.append(f"{what['entry']['level']}: {what['entry']['text']} {what['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled":
            words = [one.get("value", one.get("description", "")) for one in what["args"]]
            self.console.append(f"{what['type']}: {words}")
        elif method == "Runtime.exceptionThrown":
            details = what["exceptionDetails"]
            self.console.append(f"exception: {details['text']} {details.get('exception', {}).get('description', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.sockets, self.socket, self.newest = self.sockets + 1, what["requestId"], 0
        elif method in ("Network.webSocketFrameReceived", "Network.webSocketFrameSent"):
            frame = what["response"]
            messages = self.heard if method.endswith("Received") else self.said
            if frame["opcode"] == 2:
                messages.append(base64.b64decode(frame["payloadData"]))
                is_new = messages is self.heard and what["requestId"] == self.socket
                self.newest += is_new and messages[-1][0] == FRAME

    def call(self, method, **parameters):
        return self.chromium.call(method, self.session, **parameters)

    def run(self, script):
        """The value of an expression, waited for."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True,
                           userGesture=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script[:200]}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def go(self, address):
        self.renew("Page.navigate", url=address)

    def renew(self, method, **parameters):
        """Until another document has come."""
        last = self.run("performance.timeOrigin")
        self.call(method, **parameters)
        self.until("another page", f"performance.timeOrigin !== {last} && document.readyState === 'complete'")

    def resize(self, size, scale=1.0):
        """To so many of the screen's pixels, `scale` of them to one of the page."""
        self.scale = scale
        self.call("Emulation.setDeviceMetricsOverride", width=round(size[0] / scale), height=round(size[1] / scale),
                  deviceScaleFactor=scale, mobile=False)

    def until(self, what, script):
        """A page that is left meanwhile answers with an error: not yet."""
        last = None

        def value():
            nonlocal last
            try:
                last = self.run(script)
            except RuntimeError as error:
                last = error
                return None
            return last
        return wait(what, value, lambda: f"{script} is {last}; {self.console[-5:]}")

    def frames(self):
        """How many came, over all sockets."""
        self.chromium.listen()
        return sum(1 for message in self.heard if message[0] == FRAME)

    def until_still(self, seconds=1.5):
        """Until a frame came over the newest connection, and then none for a while."""
        wait("a frame", lambda: self.frames() > 0 and self.newest > 0, lambda: self.console[-5:])
        before = -1
        while before != self.frames():
            if left_s() < 0:
                raise SystemExit(f"the page never stands still: {before} frames")
            before = self.frames()
            self.chromium.listen(seconds)

    def still_picture(self):
        """Drawn to its end, however long that takes."""
        self.until_still()
        last = [b""]

        def stands():
            last.append(self.picture())
            return last[-1] == last[-2] and last[-1]
        return wait("a picture that stands", stands)

    def picture(self, box=None):
        """Of the page, or of a part, in pixels of the screen."""
        clip = {}
        if box:
            x, y, right, below = (value / self.scale for value in box[:4])
            clip = {"clip": {"x": x, "y": y, "width": right - x, "height": below - y, "scale": 1}}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **clip)["data"])

    def mouse(self, kind, x, y, button="none", buttons=0, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x / self.scale, y=y / self.scale, button=button,
                  buttons=buttons, **more)

    def move(self, x, y):
        self.mouse("mouseMoved", x, y)

    def press(self, x, y):
        self.mouse("mousePressed", x, y, "left", 1, clickCount=1)

    def release(self, x, y):
        self.mouse("mouseReleased", x, y, "left", 0, clickCount=1)

    def wheel(self, x, y, down):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=down)

    def drag(self, start, end, steps=12, after=lambda: None):
        """`after` each of the steps something may be waited for."""
        self.move(*start)
        self.press(*start)
        for i in range(1, steps + 1):
            place = [a + (b - a) * i / steps for a, b in zip(start, end)]
            self.mouse("mouseMoved", *place, "left", 1)
            after()
        self.release(*end)

    def key(self, key, code="", number=0, modifiers=0, text="", commands=()):
        """Down and up; modifiers: 1 alt, 2 control, 4 command, 8 shift."""
        what = {"key": key, "code": code or key, "windowsVirtualKeyCode": number, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text,
                  commands=list(commands), **what)
        self.call("Input.dispatchKeyEvent", type="keyUp", **what)

    def type(self, words):
        for sign in words:
            code = f"Key{sign.upper()}" if sign.isalpha() else f"Digit{sign}" if sign.isdigit() else ""
            self.key(sign, code or "Unidentified", ord(sign.upper()) if code else 0, 0, sign)

    def to_front(self):
        self.chromium.call("Target.activateTarget", targetId=self.target)

    def close(self):
        self.chromium.call("Target.closeTarget", targetId=self.target)
        self.chromium.pages.pop(self.session)
