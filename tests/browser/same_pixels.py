"""The picture in a tab against the window's own (--screenshot): six panels, two themes.

Usage: same_pixels.py ISOBAR_BROWSER ISOBAR_GUI PROJECT
"""
import os
import subprocess
import sys
from pathlib import Path

from window import Window, needs, no_complaints, world, write_run

SIZE = (1440, 900)
RECORDED = "lessons/02_workers/recorded/h200-2026-11-26-base"
# The panel, the lesson, and the run that it shows.
PANELS = {"watch": ("02_workers", RECORDED), "compare": ("01_baseline", "runs/a"),
          "predict": ("01_baseline", "runs/a"), "theatre": ("09_all_reduce", "runs/a"),
          "lesson": ("03_gpu_loader", RECORDED), "code": ("05_fusion", RECORDED)}
MOST_OFF = 0.001  # of the pixels


def main():
    needs("chromium", "Xvfb")
    program, gui, project = sys.argv[1:]
    display = Path(project) / "cmake/setup/with_display.sh"
    with world() as (folder, chromium):
        for name, steps in (("a", 300), ("b", 200)):
            write_run(folder / "runs" / name, steps)
        for panel, (lesson, run) in PANELS.items():
            for theme in ("dark", "light"):
                shown = run if run.startswith("runs/") else Path(project).resolve() / run
                words = ["runs/a", "runs/b", "--panel", panel, "--theme", theme, "--lesson", lesson, "--run", shown]
                with Window(program, project, folder, *words) as window:
                    picture = folder / f"{panel}-{theme}.png"
                    subprocess.run([display, "{}x{}".format(*SIZE), gui, *words, "--size", "{}x{}".format(*SIZE),
                                    "--screenshot", picture], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                                   env=dict(os.environ, **window.places()))
                    page = chromium.page(window.address, SIZE)
                    page.until("the first frame", "document.title !== 'Isobar'")
                    page.until_still()
                    tab = page.picture()
                    result = chromium.compare(picture.read_bytes(), tab)
                    no_complaints(page)
                    page.close()
                keep = os.environ.get("ISOBAR_KEEP_PICTURES")  # a folder, to look at them
                if keep:
                    Path(keep, picture.name).write_bytes(picture.read_bytes())
                    Path(keep, f"{panel}-{theme}-tab.png").write_bytes(tab)
                assert result["width"], f"{panel}, {theme}: not of one size: {result}"
                off = result["off"] / (SIZE[0] * SIZE[1])
                print(f"{panel}, {theme}: {off:.4%} of the pixels are off by more than 2 of 255, the most by "
                      f"{result['most']}", flush=True)
                assert off <= MOST_OFF, f"{panel}, {theme}: {result}"


if __name__ == "__main__":
    main()
