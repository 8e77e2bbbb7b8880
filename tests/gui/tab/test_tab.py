"""A tab at work, without a browser: what it is shown, and what it can start.

Usage: test_tab.py ISOBAR_BROWSER PROJECT
"""
import re
import signal
import sys
import tempfile
from pathlib import Path

from program import BEAT, OVER, Program, Tab, append_step, write_run
from tab_client import Reader

BEATS = 4  # 2 s apart, so that all that is looked at now and then is looked at meanwhile
MARKUP = "<img src=x onerror=alert(1)>"


def check_live(program, run):
    tab = Tab(program)
    tab.until("the run", lambda: tab.title.startswith(("100/1000 ", "died: ")))  # 180 s may have passed
    for step in (100, 101):
        tab.settle()
        seen = tab.frames
        append_step(run, step)
        tab.until("a frame with the step", lambda: tab.frames > seen)
    tab.until("the step in words", lambda: tab.title.startswith("102/1000 "))
    print(f"a new step of a live run comes in a later frame; the title says {tab.title!r}")
    return tab


def check_markup(program, tab):
    """Names of runs are pictures of letters, or words of a message; the page is always the same."""
    page = Path(__file__).parents[3] / "gui/tab/page"
    cookie = program.cookie()
    for name, file in (("", "page.html"), ("page.css", "page.css"), ("page.js", "page.js"), ("frame.js", "frame.js")):
        status, headers, body = program.client().ask(program.target + name, Cookie=cookie)
        assert (status, body) == (200, (page / file).read_bytes()), name
        assert headers["X-Content-Type-Options"] == "nosniff" and "'unsafe" not in headers["Content-Security-Policy"]
        assert "script-src 'self'" in headers["Content-Security-Policy"]
    tab.click("run " + MARKUP)
    tab.until("the run with markup in words", lambda: MARKUP in tab.summary)
    print("markup in a run's name stays words")


def check_idle(tab):
    """Between beats comes nothing, once all is read."""
    tab.until("beats and no more", lambda: tab.heard[-BEATS:] == [BEAT] * BEATS)
    print("a window in which nothing happens sends a beat and no more")


def check_start(program, tab):
    tab.click("Settings")
    tab.click("Start")
    # A tab that waits goes on answering: one that is not heard of for long is closed.
    tab.until("the program", lambda: program.arguments.exists() and program.arguments.read_text())
    words = program.arguments.read_text()
    assert words.split("\n")[:2] == ["run", "01_baseline"], words
    opened = (program.folder / "arguments.open").read_text()
    assert "socket:" not in opened, f"it was handed our connections: {opened}"
    allowed = {"--preset", "--set", ""}
    assert all(word in allowed or before in allowed for before, word in zip(words.split("\n")[1:], words.split("\n")[2:])), words
    print(f"Start over the wire: {words.split()}")


def check_keys(program, tab):
    """Every key, with modifiers: nothing but lessons is started, and no editor."""
    for code in range(349):  # as GLFW numbers them
        for down in (True, False):
            tab.client.key(code, down, (0, 1, 2, 4, 7)[code % 5])
    tab.settle()
    assert not (program.folder / "opened").exists(), (program.folder / "opened").read_text()
    words = program.arguments.read_text().split()
    assert words[0] in ("run", "quiz", "predict", "ladder", "check"), words
    print("all keys: nothing else was started")


def check_sizes(program, tab):
    """The tab that types leads; what it is as large as is not kept as the window's settings."""
    other = Tab(program, 1008, 704)
    other.until("the same window", lambda: tuple(other.size) == (1288, 904))
    other.client.key(340, True)
    other.client.key(340, False)
    other.until("its own size", lambda: tuple(other.size) == (1008, 704))
    tab.until("the other's size", lambda: tuple(tab.size) == (1008, 704))
    other.client.socket.close()
    tab.until("its own size again", lambda: tuple(tab.size) == (1288, 904))


def check_end(program, tab, number):
    program.stop(number)
    tab.until_closed("at its end")
    assert [payload[0] for payload in tab.others][-1:] == [OVER], tab.others
    print(f"at the end a tab hears: {Reader(tab.others[-1][1:]).words()}")
    kept = program.folder / "config/isobar/window.toml"
    sizes = re.findall(r"^(?:width|height) = (\d+)", kept.read_text() if kept.exists() else "", re.M)
    assert not {"1288", "1008", "904", "704"} & set(sizes), f"the tab's size was kept: {sizes}"


def main():
    program, project = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory(prefix="isobar-tab-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        write_run(folder / "runs" / MARKUP, 5)
        run = write_run(folder / "runs/live")
        with Program(program, project, folder, "runs", "--lesson", "01_baseline", "--run", "runs/live", "--beat", "2") as server:
            tab = check_live(server, run)
            check_markup(server, tab)
            check_idle(tab)
            check_sizes(server, tab)
            check_end(server, tab, signal.SIGINT)
        with Program(program, project, folder / "empty", "runs", "--lesson", "01_baseline") as server:
            tab = Tab(server)
            check_start(server, tab)
            check_keys(server, tab)
            check_end(server, tab, signal.SIGTERM)


if __name__ == "__main__":
    main()
