"""What the pages of the lessons promise: sections in their order, letters of formulas that are explained, links and pictures that are there,
nothing that gives an answer away, and questions that serve the goals.

A formula that is shown stands in a fenced block of the language `formula`. Each of its names that is no function stands alone in backticks
between the block and the next heading. Usage: check_pages.py ROOT. Prints each fault, and exits with 1 when there is any.
"""
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

TOPS = ("cmake", "datasets", "docs", "engine", "gui", "lessons", "submit", "tests")
SECTIONS = ["Claim", "Picture", "Idea", "Predict", "Run", "What to look at", "Break"]
FUNCTIONS = set("abs ceil cos erf exp floor ln log log2 max mean min norm round sin sqrt sum".split())
FREE = {"pi"}
MOST_WORDS, LEAST_GIVEAWAY, OPENING = 1200, 4, 2

FENCE = re.compile(r"^```(\w*)\n(.*?)^```[ \t]*$", re.M | re.S)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
DETAILS = re.compile(r"<details>.*?</details>", re.S)


def prose(text):
    """Without what is quoted as code: fenced, indented, inline."""
    text = re.sub(r"(?<=\n)\n((?: {4}.*)?\n)+", "\n", FENCE.sub("", text))
    return re.sub(r"`[^`\n]*`", "", text)


def pages_of(root):
    found = [*root.glob("*.md"), *(page for top in TOPS for page in (root / top).rglob("*.md"))]
    return sorted(page for page in found if page.is_file())


def anchors_of(text):
    seen, out = Counter(), set()
    for title in re.findall(r"^#+ +(.+?) *#*$", FENCE.sub("", text), re.M):
        title = re.sub(r"\]\([^)]*\)", "]", title)
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        out.add(name + (f"-{seen[name]}" if seen[name] else ""))
        seen[name] += 1
    return out


def check_links(page, text):
    for is_picture, words, target in LINK.findall(prose(text)):
        if is_picture and not words.strip():
            yield f"the picture {target} has no alt text"
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists():
            yield f"{target} is not there"
        elif anchor and (file.suffix != ".md" or anchor not in anchors_of(file.read_text())):
            yield f"{target}: there is no such heading"
    for tag in re.findall(r"<img\b[^>]*>", prose(text)):
        if not re.search(r'\balt="[^"]*\w', tag):
            yield f"a picture without alt text: {tag}"


def names_in(formula):
    for match in re.finditer(r"(?<![\w.])[A-Za-z]\w*", formula):
        name, is_call = match.group(), formula[match.end():].lstrip(" ").startswith("(")
        if name not in FREE and not (is_call and name in FUNCTIONS):
            yield name


def check_formulas(text):
    for fence in FENCE.finditer(text):
        if fence[1] != "formula":
            continue
        after = re.split(r"^#+ ", text[fence.end():], maxsplit=1, flags=re.M)[0]
        explained = set(re.findall(r"`([A-Za-z]\w*)`", FENCE.sub("", after)))
        for name in sorted(set(names_in(fence[2])) - explained):
            yield f"{name} is not explained after the formula {' '.join(fence[2].split())[:60]}"


def check_page(text):
    """What a lesson's README.md is made of."""
    shown = DETAILS.sub("", text)
    read = re.sub(r"!\[[^\]]*\]", "", shown)  # who sees a picture does not read its text
    words = sum(1 for word in read.split() if re.search(r"\w", word))
    if words > MOST_WORDS:
        yield f"{words} words outside of <details>; at most {MOST_WORDS}"
    parts = re.split(r"^## +(.+?) *$", FENCE.sub("", shown), flags=re.M)
    titles, bodies = parts[1::2], parts[2::2]
    wanted = SECTIONS + ["Build"] if "Build" in titles else SECTIONS  # of an exercise
    if titles != wanted:
        yield f"the sections are {', '.join(titles)}; not {', '.join(wanted)}"
    elif not any(is_picture for is_picture, _, _ in LINK.findall(bodies[SECTIONS.index("Picture")])):
        yield "the section Picture has no picture"
    if "](reveal.md)" not in text.strip().splitlines()[-1]:
        yield "the last line does not link to reveal.md"


def plain(text):
    return " ".join(re.sub(r"[`*]", "", text).lower().split())


def check_giveaway(text, questions):
    """`text` is plain already."""
    for question in questions:
        for words in question.get("giveaway", []):
            if re.search(rf"(?<![\w.,]){re.escape(plain(words))}(?!\w|[.,]\d)", text):
                yield f"\"{words}\" gives {question['id']} away"


def asked_in(folder):
    file = folder / "questions.toml"
    return tomllib.loads(file.read_text()) if file.is_file() else {}


def check_questions(folder, questions):
    if not questions:
        yield "questions.toml", "asks nothing"
        return
    reveal = folder / "reveal.md"
    headings = re.findall(r"^## +(\S+) *$", reveal.read_text(), re.M) if reveal.is_file() else []
    for question in questions:
        name = question["id"].partition(".")[2]
        if headings.count(name) != 1:
            yield "reveal.md", f"{question['id']} has {headings.count(name)} sections \"## {name}\""
        for words in question.get("giveaway", []):
            if len(words) < LEAST_GIVEAWAY:
                yield "questions.toml", f"the giveaway \"{words}\" of {question['id']} is too short to mean anything"
    goals = tomllib.loads((folder / "lesson.toml").read_text()).get("goals", [])
    served = {question.get("goal") for question in questions}
    for number, goal in enumerate(goals, 1):
        if number not in served:
            yield "questions.toml", f"no question serves goal {number}: {goal}"


def check_openings(lessons, asked, opens_with):
    """Questions of earlier lessons open each lesson but the first."""
    for place, lesson in enumerate(lessons):
        earlier = {question["id"] for name in lessons[:place] for question in asked[name]}
        opening = opens_with[lesson]
        if place and len(opening) != OPENING:
            yield lesson, f"{len(opening)} questions of earlier lessons open it, not {OPENING}: {', '.join(opening)}"
        for name in opening:
            if name not in earlier:
                yield lesson, f"{name} cannot open it: it is of no earlier lesson"


def faults(root):
    folders = [folder for folder in sorted((root / "lessons").glob("[0-9][0-9]_*")) if (folder / "lesson.toml").is_file()]
    files = {folder.name: asked_in(folder) for folder in folders}
    asked = {name: file.get("question", []) for name, file in files.items()}
    everything = [question for questions in asked.values() for question in questions]
    for page in pages_of(root):
        text, name = page.read_text(), str(page.relative_to(root))
        checks = [check_links(page, text), check_formulas(text)]
        if page.name != "reveal.md":
            checks.append(check_giveaway(plain(text), everything))
        if page.name == "README.md" and page.parent in folders:
            checks.append(check_page(text))
        for check in checks:
            for fault in check:
                yield name, fault
    for folder in folders:
        for file, fault in check_questions(folder, asked[folder.name]):
            yield f"lessons/{folder.name}/{file}", fault
    for lesson, fault in check_openings(list(files), asked, {name: file.get("opens_with", []) for name, file in files.items()}):
        yield f"lessons/{lesson}", fault


def main():
    found = list(faults(Path(sys.argv[1]).resolve()))
    for place, fault in found:
        print(f"{place}: {fault}")
    print(f"{len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
