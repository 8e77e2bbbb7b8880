"""Many tabs watch a live run for long: each is sent its frames, and the memory of the program stays as it is.

Usage: many_tabs.py ISOBAR_BROWSER PROJECT TABS NEWS [SECONDS]
So many tabs, so many steps written while they look, over so many seconds (as fast as they are shown, if none).
"""
import sys
import time
from pathlib import Path

import chromium as browser
from chromium import wait
from window import Window, needs, no_complaints, step_line, world, write_run

WARM = 0.25  # of the steps, until all that is kept is there
MOST_GROWTH_KB = 16 * 1024  # the run itself grows


def resident_kb(window):
    status = Path(f"/proc/{window.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


def main():
    needs("chromium")
    program, project = sys.argv[1:3]
    tabs, news = map(int, sys.argv[3:5])
    seconds = float(sys.argv[5]) if len(sys.argv) > 5 else 0.0
    browser.END += seconds
    with world() as (folder, chromium):
        run = write_run(folder / "runs/live", 100, ended=False) / "rank-0000.jsonl"
        with Window(program, project, folder, "--lesson", "01_baseline", "--run", "runs/live") as window:
            pages = [chromium.page(window.address, newWindow=True) for _ in range(tabs)]
            for page in pages:
                page.until("a frame", "document.title !== 'Isobar'")
                assert not page.run("document.hidden"), "a tab is hidden"
            begin, warm_kb, frames = time.monotonic(), 0, 0
            for i in range(news):
                before = [page.frames() for page in pages]
                with run.open("a") as stream:
                    stream.write(step_line(100 + i, 2.0))
                wait(f"news {i} in all tabs", lambda: all(page.frames() > n for page, n in zip(pages, before)))
                for page in pages:
                    frames += len(page.heard)
                    page.heard.clear()
                    page.said.clear()
                if i == int(WARM * news):
                    warm_kb = resident_kb(window)
                chromium.listen(max(0.0, begin + seconds * (i + 1) / news - time.monotonic()))
            growth_kb = resident_kb(window) - warm_kb
            print(f"{tabs} tabs, {news} news in {time.monotonic() - begin:.0f} s, {frames} messages: the program "
                  f"holds {warm_kb} kB and {growth_kb:+d} kB later")
            assert growth_kb < MOST_GROWTH_KB, f"the program grew by {growth_kb} kB"
            for page in pages:
                no_complaints(page)


if __name__ == "__main__":
    main()
