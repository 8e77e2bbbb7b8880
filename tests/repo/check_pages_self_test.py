"""Each rule of check_pages.py must be able to fail: a tree is made that breaks one rule at a time."""
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_pages  # noqa: E402

PAGE = """# One

## Claim

Fewer passes, less time. See [the table](#what-to-look-at), [the words](../glossary.md#all-reduce) and [elsewhere](https://example.org/x).

## Picture

![bytes of a step, before and after](pictures/idea.svg)

## Idea

```formula
T_least >= max(F / R, 2.5e-3 * B) + pi
```

- `T_least`: the time; `F`, `R` and `B`: operations, their rate, bytes

    [not a link](nowhere.md), in a command

```bash
echo "![](nowhere.svg)"; x=y
```

## Predict

Commit first.

## Run

## What to look at

## Break

<details><summary>Settings</summary>

FILLER
</details>

The answers are in [reveal.md](reveal.md)
"""
QUESTIONS = """[[question]]
id = "01.worth"
goal = 1
giveaway = ["1.31 times"]
[[question]]
id = "01.curve"
goal = 2
"""
LATER = 'opens_with = ["01.worth", "01.curve"]\n[[question]]\nid = "02.a"\ngoal = 1\n'
GOOD = {
    "README.md": "# Top\n\n[one](lessons/01_one/README.md#idea), 11.31 times, 1.31 times2\n",
    "lessons/glossary.md": "# Glossary\n\n## all-reduce\n\nA sum.\n",
    "lessons/01_one/README.md": PAGE.replace("FILLER", "word " * 1300),
    "lessons/01_one/reveal.md": "# Reveal\n\n## worth\n\n1.31 times.\n\n## curve\n\nThe same.\n\n## Measured\n",
    "lessons/01_one/questions.toml": QUESTIONS,
    "lessons/01_one/lesson.toml": 'goals = ["a", "b"]\n',
    "lessons/01_one/pictures/idea.svg": "<svg/>",
    "lessons/02_two/README.md": PAGE.replace("## Break\n", "## Break\n\n## Build\n"),
    "lessons/02_two/reveal.md": "## a\n",
    "lessons/02_two/questions.toml": LATER,
    "lessons/02_two/lesson.toml": 'goals = ["a"]\n',
    "lessons/02_two/pictures/idea.svg": "<svg/>",
}
ONE = "lessons/01_one/README.md"
BAD = [  # file, what is replaced, by what, what is said
    (ONE, "`F`, ", "", "F is not explained"),
    (ONE, "2.5e-3 * B", "median(B)", "median is not explained"),
    (ONE, "`R` and `B`", "`R`\n\n### More\n\nand `B`", "B is not explained"),
    (ONE, "![bytes of a step, before and after]", "![ ]", "has no alt text"),
    (ONE, "Commit first.", 'Commit <img src="pictures/idea.svg"> first.', "without alt text"),
    (ONE, "pictures/idea.svg", "pictures/gone.svg", "pictures/gone.svg is not there"),
    (ONE, "![bytes of a step, before and after](pictures/idea.svg)", "None.", "the section Picture has no picture"),
    (ONE, "#what-to-look-at", "#what-to-see", "#what-to-see: there is no such heading"),
    (ONE, "#all-reduce", "#all-gather", "there is no such heading"),
    (ONE, "Commit first.", "Commit " + "first " * 1300, "words outside of <details>; at most 1200"),
    (ONE, "## Picture", "## Figure", "the sections are Claim, Figure, Idea"),
    (ONE, "## Run\n\n## What to look at", "## What to look at\n\n## Run", "the sections are"),
    (ONE, "## Break\n", "", "the sections are"),
    (ONE, "## Break\n", "## Build\n\n## Break\n", "the sections are"),
    (ONE, "[reveal.md](reveal.md)", "elsewhere", "the last line does not link to reveal.md"),
    (ONE, "Commit first.", "It is **1.31\ntimes** as fast.", "\"1.31 times\" gives 01.worth away"),
    ("README.md", "11.31 times", "worth `1.31 times`.", "gives 01.worth away"),
    ("lessons/glossary.md", "A sum.", "A sum, 1.31 Times.", "gives 01.worth away"),
    ("README.md", "#idea", "#ideas", "there is no such heading"),
    ("README.md", "README.md#idea", "main.cpp", "lessons/01_one/main.cpp is not there"),
    ("lessons/01_one/reveal.md", "## worth", "## value", "01.worth has 0 sections"),
    ("lessons/01_one/reveal.md", "## Measured", "## worth", "01.worth has 2 sections"),
    ("lessons/01_one/questions.toml", "1.31 times", "1.3", "too short to mean anything"),
    ("lessons/01_one/questions.toml", "goal = 2\n", "", "no question serves goal 2: b"),
    ("lessons/02_two/questions.toml", ', "01.curve"', "", "1 questions of earlier lessons open it, not 2"),
    ("lessons/02_two/questions.toml", "01.curve", "02.a", "it is of no earlier lesson"),
    ("lessons/02_two/questions.toml", LATER[LATER.index("[["):], "", "asks nothing"),
]


def said_of(files):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return [fault for _, fault in check_pages.faults(root)]


def main():
    good = said_of(GOOD)
    failures = [f"the good tree is refused: {good}"] if good else []
    for file, old, new, expected in BAD:
        if old not in GOOD[file]:
            failures.append(f"not in {file}: {old}")
            continue
        found = said_of({**GOOD, file: GOOD[file].replace(old, new, 1)})
        if len(found) != 1 or expected not in found[0]:
            failures.append(f"{file}, {new[:30]!r}: {found}, not {expected!r}")
    print("\n".join(failures) or f"{len(BAD)} rules can fail")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
