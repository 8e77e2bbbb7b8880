"""Draws docs/house.svg: the rooms of the tree and who includes whom, from the include table and the code itself.

Usage: draw_house.py [--check]. With --check nothing is written: exit code 1 when the picture is not that of the tree, or an arrow runs up.
"""
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/repo"))
from check_tree import WINDOW, WINGS, includes  # noqa: E402

# From the ground up, with their columns; rooms of one floor do not include each other.
FLOORS = [{"base": (0, 3)}, {"training": (0, 1), "datasets": (1, 1), "reading": (2, 1)}, {"lessons": (1, 1), "gui": (2, 1)}]
STEPS = {**WINGS, "gui": WINDOW}
LINES = {
    "base": "no torch: files, settings, what a run records, ranks, formulas, jobs",
    "datasets": "makes synthetic weather",
    "training": "torch: what lessons are made of",
    "reading": "no torch: runs compared, questions, commands",
    "lessons": "a folder each: page, parts, pictures",
    "gui": "the window",
}
COLUMN, ROOM_HEIGHT, GAP, MARGIN = 300, 122, 48, 20
INK, DIM, PAPER, ROOM = "#1c2530", "#5c6b7a", "#fbfaf7", "#ffffff"


def room_of(path):
    place = path.relative_to(ROOT).parts
    return place[1] if place[0] == "engine" else place[0]


def arrows():
    """How many includes go from room to room."""
    homes = {folder: wing for wing, steps in WINGS.items() for step in steps for folder in step}
    out = Counter()
    for top in ("engine", "lessons", "gui", "datasets"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".cu", ".cuh"):
                continue
            room = room_of(path)
            inner = {folder for step in WINDOW for folder in step} if room == "gui" else set()
            for _, name in includes(path.read_text()):
                first = name.split("/")[0]
                # Two wings may have a folder of one name: the header decides.
                home = next((wing for wing in WINGS if (ROOT / "engine" / wing / name).exists()), homes.get(first))
                if "/" in name and first in homes and first not in inner and home != room:
                    out[room, home] += 1
    return out


def floor_of(room):
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


def faults(found):
    for (begin, end), count in sorted(found.items()):
        if floor_of(begin) <= floor_of(end):
            yield f"{count} includes go from {begin} to {end}, which is not below it"


def box(room):
    """x, y, width of a room."""
    floor = floor_of(room)
    column, span = FLOORS[floor][room]
    y = MARGIN + (len(FLOORS) - 1 - floor) * (ROOM_HEIGHT + GAP)
    return MARGIN + column * (COLUMN + GAP), y, span * COLUMN + (span - 1) * GAP


def draw_room(room):
    x, y, width = box(room)
    middle = x + width / 2
    yield f'<rect x="{x}" y="{y}" width="{width}" height="{ROOM_HEIGHT}" rx="6" fill="{ROOM}" stroke="{INK}"/>'
    yield f'<text x="{middle}" y="{y + 28}" font-size="17" font-weight="bold">{room}</text>'
    yield f'<text x="{middle}" y="{y + 48}" font-size="12" fill="{DIM}">{LINES[room]}</text>'
    steps = [" · ".join(step) for step in STEPS.get(room, [])]
    rows = [steps[:4], steps[4:]] if width == COLUMN else [steps]
    for number, row in enumerate(filter(None, rows)):
        text = ("→ " if number else "") + " → ".join(row)
        yield f'<text x="{middle}" y="{y + 78 + 20 * number}" font-size="12">{text}</text>'


def draw_arrow(begin, end, count):
    (x, y, width), (end_x, end_y, end_width) = box(begin), box(end)
    begin_y = y + ROOM_HEIGHT
    side = (end_x > x) - (end_x + end_width < x + width)  # where the room below lies: -1 left, 0 beneath, 1 right
    if end_y - begin_y > GAP:  # over a floor: through the gap to the left of the room
        middle = x - GAP / 2
        path = f"M{x + 20} {begin_y} v16 H{middle} V{end_y}"
    elif side:
        middle = end_x + end_width * (0.5 - 0.25 * side)
        path = f"M{x + width * (0.5 + 0.25 * side)} {begin_y} v26 H{middle} V{end_y}"
    else:
        middle = x + width / 2
        path = f"M{middle} {begin_y} V{end_y}"
    yield f'<path d="{path}" fill="none" stroke="{INK}" marker-end="url(#tip)"/>'
    yield f'<text x="{middle + 6}" y="{end_y - 8}" font-size="11" text-anchor="start" fill="{DIM}">{count}</text>'


def picture(found):
    width = 2 * MARGIN + 3 * COLUMN + 2 * GAP
    height = 2 * MARGIN + len(FLOORS) * (ROOM_HEIGHT + GAP) - GAP
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" text-anchor="middle" fill="{INK}">'
    yield f'<title>Rooms and includes</title><rect width="{width}" height="{height}" fill="{PAPER}"/>'
    yield '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    yield f'<path d="M0 0 L8 4 L0 8 z" fill="{INK}"/></marker></defs>'
    for rooms in FLOORS:
        for room in rooms:
            yield from draw_room(room)
    for (begin, end), count in sorted(found.items()):
        yield from draw_arrow(begin, end, count)
    yield "</svg>"


def main():
    found = arrows()
    wrong = list(faults(found))
    text = "\n".join(picture(found)) + "\n"
    file = ROOT / "docs/house.svg"
    if "--check" not in sys.argv:
        file.write_text(text)
    elif re.sub(r">\d+<", "><", file.read_text()) != re.sub(r">\d+<", "><", text):  # counts may be older than the code
        wrong.append("docs/house.svg is not the picture of this tree: python3 docs/draw_house.py draws it")
    print("\n".join(wrong) or f"{len(found)} arrows, none up")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
