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
from impostor import EVIL, HELLO, LIES, SHOWN, Impostor
from program import append_step, write_run
from window import Window, needs, no_complaints, world

NOTE = "document.getElementById('note').textContent"
PREFIX = "/user/name/proxy/1234"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Proxy:
    """nginx, which keeps the folder PREFIX of the address or strips it, as `strips` says; Host stays the browser's."""

    def __init__(self, folder, target, strips):
        self.target, self.strips, self.folder = target, strips, folder / f"nginx-{int(strips)}"
        self.folder.mkdir()
        self.pid_file, self.config = self.folder / "pid", self.folder / "nginx.conf"
        wait("nginx", self.starts_anywhere, self.log)

    def starts_anywhere(self):
        self.port = free_port()
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temp = "".join(f"{kind}_temp_path {self.folder};" for kind in kinds)
        self.config.write_text(f"""
daemon off; master_process off; pid {self.pid_file}; error_log {self.folder}/log;
events {{}}
http {{
  access_log off; {temp}
  map $http_upgrade $goes_on {{ default upgrade; '' close; }}
  server {{
    listen 127.0.0.1:{self.port};
    location {PREFIX}/ {{
      proxy_pass http://127.0.0.1:{self.target}{"/" if self.strips else ""};
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $goes_on;
    }}
  }}
}}
""")
        return self.starts()

    def start(self):
        """Where it was: somebody else may have the port for a moment."""
        wait("nginx", self.starts, self.log)

    def log(self):
        return (self.folder / "log").read_text()

    def starts(self):
        program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        self.pid_file.unlink(missing_ok=True)
        self.process = subprocess.Popen([program, "-c", str(self.config), "-p", str(self.folder)],
                                        stderr=subprocess.DEVNULL)
        # It writes its number once it listens.
        return wait("nginx to listen", lambda: self.pid_file.exists() or self.process.poll() is not None) and (
            self.process.poll() is None)

    def stop(self):
        self.process.kill()
        self.process.wait()


def shows_window(window, page):
    """A picture came, and a click goes through."""
    page.until_still()
    window.change_theme(page)


def reload(window, page):
    page.renew("Page.reload")
    shows_window(window, page)
    assert "token" not in page.run("location.href")


def hidden(page, said):
    """It says so: the program knows soon."""
    page.until("a tab to be hidden", "document.hidden")
    wait("it to say so", lambda: (page.chromium.listen(), b"\3\0" in page.said[said:])[1])


def other_tab(window, page):
    """A second tab shows the same; the first is hidden meanwhile, and is sent nothing of what is new."""
    said = len(page.said)
    other = page.chromium.page(window.address())
    hidden(page, said)
    result = {}

    def is_same():
        nonlocal result
        page.to_front()
        mine = page.still_picture()
        other.to_front()
        result = page.chromium.compare(mine, other.still_picture())
        return result.get("off") == 0
    wait("two tabs to show the same", is_same, lambda: result)
    before = page.frames(), other.frames()
    append_step(window.run, 300)
    wait("a frame in the other tab", lambda: other.frames() > before[1])
    other.until_still()
    assert page.frames() == before[0], "a hidden tab was sent a frame"
    page.to_front()
    wait("what the hidden tab had missed", lambda: page.frames() > before[0])
    other.close()


def nobody_looks(window, page):
    """All tabs hidden: nothing is drawn, once the program knows."""
    said = len(page.said)
    blank = page.chromium.page()
    hidden(page, said)
    for step in range(301, 306):
        drawn, frames = window.drawn(), page.frames()
        append_step(window.run, step)
        page.until("the title of a hidden tab", f"document.title.startsWith('{step + 1}/')")
        drew = page.frames() > frames or window.drawn() != drawn
        if not drew:
            break
    assert not drew, "drawn, and nobody looks"
    blank.close()
    page.to_front()
    wait("the frame once it is shown", lambda: page.frames() > frames)


def stopped_program(window, page):
    """The picture stays, and what was done meanwhile is done once it goes on."""
    page.until_still()
    theme = window.other_theme()
    place = window.point_at(page, theme)
    window.process.send_signal(signal.SIGSTOP)
    before = page.still_picture()
    page.press(*place)
    page.release(*place)
    page.chromium.listen(1)
    assert page.chromium.compare(before, page.picture())["off"] == 0, "the picture changed"
    window.process.send_signal(signal.SIGCONT)
    wait("what was clicked meanwhile", lambda: window.other_theme() != theme)


def offline(window, page):
    line, sockets = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}, page.sockets
    page.call("Network.emulateNetworkConditions", offline=True, **line)
    page.until("the note", f"{NOTE}.includes('connection is lost')")
    append_step(window.run, 310)
    page.call("Network.emulateNetworkConditions", offline=False, **line)
    shows_window(window, page)
    assert page.sockets > sockets, "the line was never lost"


def proxies(window, chromium, folder):
    for strips in (False, True):
        proxy = Proxy(folder, window.port, strips)
        try:
            behind(proxy, window, chromium)
        finally:
            proxy.stop()


def behind(proxy, window, chromium):
    """The window there, through a lost line too."""
    page = chromium.page(window.address(proxy.port, PREFIX))
    shows_window(window, page)
    assert all(f":{proxy.port}{PREFIX}{window.target}" in asked for asked in page.requests), page.requests
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
    before, frames = page.still_picture(), page.frames()
    context = "document.getElementById('canvas').getContext('webgl2').getExtension('WEBGL_lose_context')"
    page.run(f"(window.lost = {context}).loseContext()")
    page.chromium.listen(0.5)
    page.run("window.lost.restoreContext()")
    wait("a frame for the new card", lambda: page.frames() > frames)
    wait("the same picture", lambda: page.chromium.compare(before, page.still_picture())["off"] == 0)
    page.console.clear()  # it says so there


def started_anew(window, page):
    """The program ends, which it says; a new one at the same port does not know the old address."""
    window.stop()
    page.until("the farewell", f"{NOTE}.includes('runs go on')")
    window.start_at(window.port)
    other = page.chromium.page(window.address())
    shows_window(window, other)
    window.kill()
    other.until("the note", f"{NOTE}.includes('connection is lost')")
    window.start_at(window.port)
    other.until("the note that it is another", f"{NOTE}.includes('not valid any more')")
    refused = page.chromium.page(other.run("location.href"))
    refused.until("the refusal in words", "document.body.textContent.includes('isobar gui --browser')")


def impostor(window, page):
    """Another program has the port of one that was killed: it is believed nothing and told nothing."""
    page = page.chromium.page(window.address())
    page.until_still()
    page.run("""window.shown = []; new MutationObserver(() => shown.push(document.title + document.body.textContent))
        .observe(document, { subtree: true, childList: true, characterData: true })""")
    window.kill()
    page.until("the note", f"{NOTE}.includes('connection is lost')")
    sockets = page.sockets

    def takes_port():
        try:
            return Impostor(window.port, window.target)
        except OSError:
            return None
    with wait(f"port {window.port}", takes_port) as other:
        wait("the page to come", lambda: {HELLO, SHOWN} <= set(other.heard))
        wait("it to hear all", lambda: (page.chromium.listen(), page.heard[-len(LIES):] == LIES)[1])
        page.move(300, 300)
        page.press(300, 300)
        page.release(300, 300)
        page.type("x")
        other.enough.set()
        page.until("the note", f"{NOTE}.includes('Another program answers at this address')")
        assert page.sockets == sockets + 2, page.sockets
        assert set(other.heard) == {HELLO, SHOWN}, f"it was told messages of the kinds {other.heard}"
    shown = page.run("shown")
    assert shown and not any(EVIL in words for words in shown), shown


def main():
    needs("chromium", "nginx")
    program, project = sys.argv[1:]
    with world() as (folder, chromium):
        run = write_run(folder / "runs/live", 300)
        with Window(program, project, folder, "--lesson", "01_baseline", "--run", "runs/live") as window:
            window.run = run
            page = chromium.page(window.address())
            shows_window(window, page)
            for part in (reload, other_tab, nobody_looks, stopped_program, offline, lost_card):
                part(window, page)
                no_complaints(page)
                print(part.__name__.replace("_", " "))
            proxies(window, chromium, folder)
            page.to_front()
            for part in (started_anew, impostor):
                part(window, page)
                print(part.__name__.replace("_", " "))


if __name__ == "__main__":
    main()
