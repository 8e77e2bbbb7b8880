"""Each rule of check_window_pictures.py must be able to fail."""
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_window_pictures  # noqa: E402

FILES = {
    "gui/state/state.cpp": 'constexpr std::array<const char*, 2> kViewTitles = {\n    "Watch", "Lesson"};\n',
    "engine/reading/course/course.cpp": 'constexpr const char* kLessonPartNames[] = {"read", "goal"};\n',
    "gui/make_pictures.sh": "picture() {\n}\npicture watch runs --panel watch\nA=b picture lesson runs\n",
    "gui/README.md": "| Watch | loss |\n![a](recorded/watch.png) ![b](recorded/lesson.png)\n",
    "gui/recorded/watch.png": "",
    "gui/recorded/lesson.png": "",
}
BAD = [
    ("a view that is new", {"gui/state/state.cpp": FILES["gui/state/state.cpp"].replace('"Lesson"', '"Lesson", "Settings"')}),
    ("a part of another name", {"engine/reading/course/course.cpp": FILES["engine/reading/course/course.cpp"].replace("goal", "aim")}),
    ("a picture that is new", {"gui/make_pictures.sh": FILES["gui/make_pictures.sh"] + "picture maps runs\n"}),
    ("no record", {"gui/recorded/shown.txt": ""}),
    ("sources of another form", {"gui/state/state.cpp": "nothing\n"}),
    ("a view without a row", {"gui/README.md": FILES["gui/README.md"].replace("| Watch |", "| Look |")}),
    ("a picture that nobody sees", {"gui/README.md": FILES["gui/README.md"].replace("recorded/watch.png", "")}),
    ("a picture that is not there", {"gui/recorded/watch.png": None}),
]


def count(changes):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        (root / "gui/recorded/shown.txt").write_text(check_window_pictures.text_of(check_window_pictures.shown(root)))
        for name, text in changes.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                (root / name).unlink()
            else:
                (root / name).write_text(text)
        return len(list(check_window_pictures.faults(root)))


def main():
    failed = [] if count({}) == 0 else ["faults in what is right"]
    failed += [what for what, changes in BAD if count(changes) == 0]
    for what in failed:
        print(f"not found: {what}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
