"""The window in a tab, with a project and runs of its own."""
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from chromium import Chromium, chromium_program
from program import Program, wait


def needs(*programs):
    """ctest shows a test that says so as skipped."""
    for program in programs:
        path = os.environ["PATH"] + ":/usr/sbin"
        found = chromium_program() if program == "chromium" else shutil.which(program, path=path)
        if not found:
            print(f"skipped: {program} is not installed")
            sys.exit(0)


@contextmanager
def world():
    """A folder that goes again, and Chromium."""
    with tempfile.TemporaryDirectory(prefix="isobar-browser-", ignore_cleanup_errors=True) as name:
        with Chromium(name) as chromium:
            yield Path(name), chromium


class Window(Program):
    """Seen by pages of Chromium."""

    def address(self, port=None, before=""):
        """For a browser; through a proxy at another port, with a folder in front."""
        return f"http://127.0.0.1:{port or self.port}{before}{self.entry}"

    def start_at(self, port):
        """At a port that somebody else may have taken for a moment."""
        def started():
            try:
                self.start("--port", str(port))
                return True
            except ChildProcessError:
                return False
        wait(f"port {port} to be free", started)

    def box(self, name):
        return wait(f"the widget {name!r}", lambda: self.items().get(name), lambda: sorted(self.items()))

    def middle(self, name):
        x, y, right, below = self.box(name)[:4]
        return (x + right) / 2, (y + below) / 2

    def point_at(self, page, name):
        """Moves there, until a frame was drawn in which it stands still."""
        place = None
        while place != self.middle(name):
            place, before = self.middle(name), self.drawn()
            page.move(place[0] + 1, place[1])
            page.move(*place)
            wait(f"a frame with {name!r}", lambda: self.drawn() != before)
        return place

    def click(self, page, name):
        place = self.point_at(page, name)
        page.press(*place)
        page.release(*place)

    def other_theme(self):
        """The button that changes to it."""
        return self.until("the button of themes", lambda items: next(iter({"Light", "Dark"} & items.keys()), ""))

    def change_theme(self, page):
        before = self.other_theme()
        self.click(page, before)
        wait("the other theme", lambda: self.other_theme() != before)

    def until(self, what, condition):
        return wait(what, lambda: condition(self.items()), lambda: sorted(self.items()))

    def type(self, page, name, words):
        self.click(page, name)
        page.key("a", "KeyA", 65, 2)
        page.type(words)
        self.until_shows(name, words)

    def until_shows(self, field, words):
        shown = lambda: self.items().get(field, [""])[-1]
        wait(f"{words!r} in {field!r}", lambda: field in self.items() and shown() == words, shown)


def no_complaints(page, but=()):
    """Nothing in the console: no error of the script, nothing that the content policy held back."""
    page.chromium.listen()
    console = [words for words in page.console if not any(part in words for part in but)]
    assert not console, console
