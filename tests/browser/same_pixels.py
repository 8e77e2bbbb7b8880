"""The picture in a tab against the window's own (--screenshot): six panels, two themes.

Usage: same_pixels.py ISOBAR_BROWSER ISOBAR_GUI PROJECT
"""
import os
import subprocess
import sys
from pathlib import Path

from chromium import wait
from program import write_run
from window import Window, needs, no_complaints, world

SIZE = (1440, 900)
RECORDED = "lessons/02_workers/recorded/h200-2026-11-26-base"
# The panel, the lesson, and the run that it shows.
PANELS = {"watch": ("02_workers", RECORDED), "compare": ("01_baseline", "runs/a"),
          "predict": ("01_baseline", "runs/a"), "messages": ("09_all_reduce", "runs/a"),
          "lesson": ("03_gpu_loader", RECORDED), "code": ("05_fusion", RECORDED)}
MOST_OFF = 0.001 * SIZE[0] * SIZE[1]  # pixels


def main():
    needs("chromium", "Xvfb")
    program, gui, project = sys.argv[1:]
    display = Path(project) / "cmake/setup/with_display.sh"
    with world() as (folder, chromium):
        for name, steps in (("a", 300), ("b", 200)):
            write_run(folder / "runs" / name, steps, ended=True)
        for panel, (lesson, run) in PANELS.items():
            for theme in ("dark", "light"):
                shown = run if run.startswith("runs/") else Path(project).resolve() / run
                words = ["runs/a", "runs/b", "--panel", panel, "--theme", theme, "--lesson", lesson, "--run", shown]
                with Window(program, project, folder, *words) as window:
                    picture, tab = (folder / f"{panel}-{theme}{of}.png" for of in ("", "-tab"))
                    subprocess.run([display, "{}x{}".format(*SIZE), gui, *words, "--size", "{}x{}".format(*SIZE),
                                    "--screenshot", picture], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                                   env=dict(os.environ, **window.places()))
                    page = chromium.page(window.address(), SIZE)
                    result = {}

                    def is_same():
                        nonlocal result
                        tab.write_bytes(page.still_picture())
                        result = chromium.compare(picture.read_bytes(), tab.read_bytes())
                        return result.get("off", MOST_OFF + 1) <= MOST_OFF
                    wait(f"the same picture of {panel}, {theme}", is_same, lambda: result)
                    no_complaints(page)
                    page.close()
                keep = os.environ.get("ISOBAR_KEEP_PICTURES")  # a folder, to look at them
                if keep:
                    for file in (picture, tab):
                        Path(keep, file.name).write_bytes(file.read_bytes())
                print(f"{panel}, {theme}: {result['off'] / (SIZE[0] * SIZE[1]):.4%} of the pixels are off by more than "
                      f"2 of 255, the most by {result['most']}", flush=True)


if __name__ == "__main__":
    main()
