"""Each rule of check_published.py must be able to fail."""
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_published  # noqa: E402

TABLE = """[stacks]
2023 = "NGC 23.07"
[rows.a]
what = "samples/s"
source = "logs"
2023 = [9.37, 9.38]
[ladder]
01_one = "a"
[quotes.01_one]
"9.4" = ["a 2023"]
[others]
"""
PAGE = "The tutorial saw 9.4 samples/s (2023, NGC 23.07).\n\nHere it is 150 samples/s.\n"
REVEAL = "It was recorded there: 9.4 samples/s (2023, NGC 23.07).\n"
SHEET = '[published]\nyears = [2023]\nsamples_per_s = ["9.38"]\nstacks = ["NGC 23.07"]\n'
BAD = [
    ("a figure in no row", TABLE, PAGE.replace("9.4 samples/s", "9.4 samples/s, with workers 12.4"), SHEET),
    ("a figure that is another's", TABLE.replace('"9.4" =', '"9.5" ='), PAGE.replace("9.4", "9.5"), SHEET),
    ("a figure without its year", TABLE, PAGE.replace("2023, ", ""), SHEET, ""),
    ("a figure without its stack", TABLE, PAGE.replace(", NGC 23.07", ""), SHEET, ""),
    ("a figure that went", TABLE, PAGE.replace("9.4", "nothing in"), SHEET, "Nothing.\n"),
    ("a figure in no row among the answers", TABLE, PAGE, SHEET, REVEAL.replace("9.4", "9.6")),
    ("a row without a source", TABLE.replace('source = "logs"\n', ""), PAGE, SHEET),
    ("a bar outside of its row", TABLE, PAGE, SHEET.replace("9.38", "9.5")),
    ("a bar of another stack", TABLE, PAGE, SHEET.replace("23.07", "24.01")),
]


def count(table, page, sheet, reveal=REVEAL):
    with tempfile.TemporaryDirectory() as folder:
        lesson = Path(folder) / "lessons/01_one"
        lesson.mkdir(parents=True)
        (lesson.parent / "published.toml").write_text(table)
        (lesson / "README.md").write_text(page)
        (lesson / "reveal.md").write_text(reveal)
        (lesson / "lesson.toml").write_text(sheet)
        return len(list(check_published.faults(Path(folder))))


def main():
    failures = [] if count(TABLE, PAGE, SHEET) == 0 else ["the good page is refused"]
    failures += [f"not noticed: {name}" for name, *files in BAD if count(*files) == 0]
    for failure in failures:
        print(failure)
    print(f"{len(BAD) - len(failures)} rules can fail")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
