"""Each part of check_english.py must be able to fail: texts that break the rule and texts that keep it."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_english  # noqa: E402

CASES = [  # file, text, in tests, how many places
    ("a.h", "/// The bytes that the file holds.\nint f();  ///< units: bytes\n", False, 0),
    ("a.h", "/// Of the file.\n/// Of course this line goes with the one above.\nint f();\n", False, 1),
    ("a.h", "int a;  ///< of the file\nint b;  ///< the same\n", False, 2),
    ("a.h", "/// The program says that a run goes on.\n", False, 2),
    ("a.h", "/// A disk that is full, say, ends it.\n", False, 0),
    ("a.cpp", 'print("the run goes on");  // f\nsays("x");\n', False, 1),
    ("a.cpp", 'CHECK(says("the run goes on"));\n', True, 0),
    ("a.py", "x = 1  # As above.\nprint('it says so')\n", False, 1),
    ("a.md", "The program tells\nand 09 prints.\n", False, 1),
    ("isobar", "  ./isobar show RUN   what a run says\nsay hello\n", False, 1),
]


def main():
    failures = []
    for name, text, in_tests, wanted in CASES:
        found = list(check_english.breaks(Path(name), text, in_tests))
        if len(found) != wanted:
            failures.append(f"{wanted} places expected in {text!r}: {found}")
    bounds = {"base": 2, "gui": 2}
    if check_english.compare({"base": 2, "gui": 2}, bounds) != ([], []):
        failures.append("counts as recorded are not accepted")
    if not check_english.compare({"base": 3, "gui": 2}, bounds)[0]:
        failures.append("a count that rose is not noticed")
    if not check_english.compare({"base": 2, "gui": 1}, bounds)[1]:
        failures.append("a count that fell is not noticed")
    print("\n".join(failures) or f"{len(CASES)} texts are counted as they should be")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
