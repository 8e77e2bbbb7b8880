"""Many tabs watch a live run for long: each is sent its frames, and the memory of the program stays as it is.

Usage: many_tabs.py ISOBAR_BROWSER PROJECT TABS NEWS [SECONDS]
So many tabs, and at least so many steps written while they look: as fast as they are shown or, for so many
seconds, one a second where the machine can show that many.
"""
import sys
import time

from chromium import wait
from program import append_step, be_patient, write_run
from window import Window, needs, no_complaints, world

WARM = 0.25  # of the whole, until all that is kept is there
MIB = 1 << 20
MOST_GROWTH = 16 * MIB  # the run itself grows
GAVE_UP = ["WebSocket is closed before the connection is established"]  # a tab that waited long tries again


def main():
    needs("chromium")
    program, project = sys.argv[1:3]
    tabs, news = map(int, sys.argv[3:5])
    seconds = float(sys.argv[5]) if len(sys.argv) > 5 else 0.0
    be_patient(seconds)
    with world() as (folder, chromium):
        run = write_run(folder / "runs/live")
        with Window(program, project, folder, "--lesson", "01_baseline", "--run", "runs/live") as window:
            pages = [chromium.page(window.address(), newWindow=True) for _ in range(tabs)]
            for page in pages:
                page.until_still()
                assert not page.run("document.hidden"), "a tab is hidden"
            begin, warm, frames, shown, over = time.monotonic(), 0, 0, 0, 0.0
            while over < 1:
                before = [page.frames() for page in pages]
                append_step(run, 100 + shown, 2.0)
                wait(f"news {shown} in all tabs", lambda: all(page.frames() > n for page, n in zip(pages, before)))
                shown += 1
                for page in pages:
                    frames += len(page.heard)
                    page.heard.clear()
                    page.said.clear()
                if seconds > 0:
                    chromium.listen(max(0.0, begin + shown - time.monotonic()))
                passed = time.monotonic() - begin
                over = min(shown / news, passed / seconds if seconds > 0 else 1)
                if warm == 0 and over >= WARM:
                    warm = window.memory()
            growth = window.memory() - warm
            print(f"{tabs} tabs, {shown} news in {passed:.0f} s, {frames} messages: the program holds "
                  f"{warm / MIB:.1f} MiB and {growth / MIB:+.1f} MiB later")
            assert growth < MOST_GROWTH, f"the program grew by {growth / MIB:.1f} MiB"
            for page in pages:
                no_complaints(page, GAVE_UP)


if __name__ == "__main__":
    main()
