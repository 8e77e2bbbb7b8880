"""The page through what happens to a connection: reload, other tabs, a hidden one, silence, a lost line, a program
that was started anew; and behind proxies that put a folder in front, as those of notebooks do.

Usage: keep_connection.py ISOBAR_BROWSER PROJECT
"""
import os
import shutil
import signal
import socket
import subprocess
import sys

from chromium import wait
from window import Window, needs, no_complaints, step_line, world, write_run

NOTE = "document.getElementById('note').textContent"
PREFIX = "/user/name/proxy/1234"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Proxy:
    """nginx, which keeps the folder PREFIX of the address or strips it, as `strips` says; Host stays the browser's."""

    def __init__(self, folder, target, strips):
        self.port, self.folder = free_port(), folder / f"nginx-{int(strips)}"
        self.folder.mkdir()
        self.config = self.folder / "nginx.conf"
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temp = "".join(f"{kind}_temp_path {self.folder};" for kind in kinds)
        self.config.write_text(f"""
daemon off; master_process off; pid {self.folder}/pid; error_log {self.folder}/log;
events {{}}
http {{
  access_log off; {temp}
  map $http_upgrade $goes_on {{ default upgrade; '' close; }}
  server {{
    listen 127.0.0.1:{self.port};
    location {PREFIX}/ {{
      proxy_pass http://127.0.0.1:{target}{"/" if strips else ""};
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $goes_on;
    }}
  }}
}}
""")
        self.start()

    def start(self):
        program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        self.process = subprocess.Popen([program, "-c", str(self.config), "-p", str(self.folder)],
                                        stderr=subprocess.DEVNULL)
        wait("nginx", self.answers, lambda: (self.folder / "log").read_text())

    def answers(self):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        self.process.kill()
        self.process.wait()


def shows_window(window, page):
    """A picture came, and a click goes through."""
    page.until("a frame", "document.title !== 'Isobar'")
    page.until_still()
    dark = "Light" in window.items()
    window.click(page, "Light" if dark else "Dark")
    window.until("the other theme", lambda items: ("Dark" if dark else "Light") in items)


def reload(window, page):
    page.call("Page.reload")
    shows_window(window, page)
    assert "token" not in page.run("location.href")


def other_tab(window, page):
    """A second tab shows the same; the first is hidden meanwhile, and is sent nothing of what is new."""
    page.until_still()
    mine = page.picture()
    other = page.chromium.page(window.address)
    page.until("the first tab to be hidden", "document.hidden")
    other.until_still()
    result = page.chromium.compare(mine, other.picture())
    assert result.get("off") == 0, f"two tabs differ: {result}"
    before = page.frames(), other.frames()
    append_step(window, 300)
    wait("a frame in the other tab", lambda: other.frames() > before[1])
    other.until_still()
    assert page.frames() == before[0], "a hidden tab was sent a frame"
    page.to_front()
    wait("what the hidden tab had missed", lambda: page.frames() > before[0])
    other.close()
    nobody_looks(window, page)


def nobody_looks(window, page):
    """All tabs hidden: nothing is drawn."""
    blank = page.chromium.page()
    page.until("the only tab to be hidden", "document.hidden")
    page.chromium.listen(0.5)
    drawn, frames = os.stat(window.items_file).st_mtime_ns, page.frames()
    append_step(window, 301)
    page.until("the title of a hidden tab", "document.title.startsWith('302/')")
    assert (page.frames(), os.stat(window.items_file).st_mtime_ns) == (frames, drawn), "drawn, and nobody looks"
    blank.close()
    page.to_front()
    wait("the frame once it is shown", lambda: page.frames() > frames)


def append_step(window, step):
    with (window.folder / "runs/live/rank-0000.jsonl").open("a") as stream:
        stream.write(step_line(step, 2.0))


def stopped_program(window, page):
    """The picture stays, and what was done meanwhile is done once it goes on."""
    dark = "Light" in window.items()
    place = window.point_at(page, "Light" if dark else "Dark")
    page.until_still()
    window.process.send_signal(signal.SIGSTOP)
    before = page.picture()
    page.press(*place)
    page.release(*place)
    page.chromium.listen(1)
    assert page.chromium.compare(before, page.picture())["off"] == 0, "the picture changed"
    window.process.send_signal(signal.SIGCONT)
    window.until("what was clicked meanwhile", lambda items: ("Dark" if dark else "Light") in items)


def offline(window, page):
    line = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.call("Network.emulateNetworkConditions", offline=True, **line)
    page.until("the browser to be offline", "!navigator.onLine")
    append_step(window, 302)
    page.chromium.listen(1)
    page.call("Network.emulateNetworkConditions", offline=False, **line)
    page.until("the step that was written meanwhile", "document.title.startsWith('303/')")
    shows_window(window, page)


def proxies(window, chromium, folder):
    for strips in (False, True):
        proxy = Proxy(folder, window.port, strips)
        try:
            behind(proxy, window, chromium)
        finally:
            proxy.stop()


def behind(proxy, window, chromium):
    """The window there, through a lost line too."""
    page = chromium.page(window.address.replace(f":{window.port}/", f":{proxy.port}{PREFIX}/"))
    shows_window(window, page)
    assert all(f":{proxy.port}{PREFIX}{window.place}" in asked for asked in page.requests), page.requests
    no_complaints(page)
    sockets = page.sockets
    proxy.stop()
    page.until("the note", f"{NOTE}.includes('connection is lost')")
    proxy.start()
    page.until("the note to go", f"{NOTE} === ''")
    assert page.sockets > sockets
    shows_window(window, page)
    page.close()


def lost_card(window, page):
    """A lost graphics card: all is drawn anew once there is one."""
    page.until_still()
    before = page.picture()
    context = "document.getElementById('canvas').getContext('webgl2').getExtension('WEBGL_lose_context')"
    page.run(f"(window.lost = {context}).loseContext()")
    page.chromium.listen(0.5)
    page.run("window.lost.restoreContext()")
    page.until_still()
    assert page.chromium.compare(before, page.picture())["off"] == 0, "another picture after the card was lost"
    page.console.clear()  # it says so there


def started_anew(window, page):
    """The program ends, which it says; a new one at the same port does not know the old address."""
    window.stop()
    page.until("the farewell", f"{NOTE}.includes('runs go on')")
    window.start("--port", str(window.port))
    other = page.chromium.page(window.address)
    shows_window(window, other)
    window.stop(signal.SIGKILL)
    other.until("the note", f"{NOTE}.includes('connection is lost')")
    window.start("--port", str(window.port))
    other.until("the note that it is another", f"{NOTE}.includes('not valid any more')")
    refused = page.chromium.page(other.run("location.href"))
    refused.until("the refusal in words", "document.body.textContent.includes('isobar gui --browser')")


def main():
    needs("chromium", "nginx")
    program, project = sys.argv[1:]
    with world() as (folder, chromium):
        write_run(folder / "runs/live", 300, ended=False)
        with Window(program, project, folder, "--lesson", "01_baseline", "--run", "runs/live") as window:
            page = chromium.page(window.address)
            shows_window(window, page)
            for part in (reload, other_tab, stopped_program, offline, lost_card):
                part(window, page)
                no_complaints(page)
                print(part.__name__.replace("_", " "))
            proxies(window, chromium, folder)
            page.to_front()
            started_anew(window, page)


if __name__ == "__main__":
    main()
