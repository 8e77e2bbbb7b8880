"""The pictures of the window in gui/recorded are of the window as it is: gui/recorded/shown.txt, which gui/make_pictures.sh
writes with them, names the views and parts that there were, and these are those that there are. gui/README.md has a row for each view.

Usage: check_window_pictures.py ROOT [--write]. Prints each fault, and exits with 1 when there is any.
"""
import re
import sys
from pathlib import Path

SIDE = {"Lesson", "Settings"}  # views of the right column, which the README has as "right"
HEAD = "# What the window had when these pictures were made. gui/make_pictures.sh writes it, tests/repo/check_window_pictures.py holds it to the code.\n"


def names_in(text, array):
    """Of `array = {"a", "b"}` in a source file."""
    found = re.search(array + r"[^=;]*=\s*\{([^}]*)\}", text)
    return re.findall(r'"([^"]+)"', found.group(1)) if found else []


def shown(root):
    return {
        "views": names_in((root / "gui/state/state.cpp").read_text(), "kViewTitles"),
        "parts": names_in((root / "engine/reading/course/course.cpp").read_text(), "kLessonPartNames"),
        "pictures": sorted(set(re.findall(r"^(?:\S+=\S+ )?picture (\w+)", (root / "gui/make_pictures.sh").read_text(), re.M))),
    }


def text_of(now):
    return HEAD + "".join(f"{name}: {' '.join(values)}\n" for name, values in now.items())


def faults(root):
    now, record = shown(root), root / "gui/recorded/shown.txt"
    for name, values in now.items():
        if not values:
            yield f"no {name} were found in the sources: is this check of today?"
    then = {}
    for line in record.read_text().splitlines() if record.is_file() else []:
        name, colon, values = line.partition(": ")
        if colon and not line.startswith("#"):
            then[name] = values.split()
    for name, values in now.items():
        if then.get(name) != values:
            yield (f"gui/recorded: the pictures are of an older window: {name} were {' '.join(then.get(name, [])) or 'not recorded'}, "
                   f"now {' '.join(values)}. gui/make_pictures.sh makes them again")
    readme = (root / "gui/README.md").read_text()
    for name in now["pictures"]:
        if not (root / f"gui/recorded/{name}.png").is_file():
            yield f"gui/recorded/{name}.png is not there, which gui/make_pictures.sh makes"
        if f"(recorded/{name}.png)" not in readme:
            yield f"gui/README.md does not show recorded/{name}.png"
    for view in now["views"]:
        if view not in SIDE and not re.search(rf"^\| {view} \|", readme, re.M):
            yield f"gui/README.md has no row for the view {view}"


def main():
    root = Path(sys.argv[1])
    if "--write" in sys.argv[2:]:
        (root / "gui/recorded/shown.txt").write_text(text_of(shown(root)))
    found = list(faults(root))
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
