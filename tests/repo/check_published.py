"""Figures that the tutorial published, as the lesson pages and their reveal.md quote them: each stands in lessons/published.toml with source, year and
stack, and is said with its year.

Usage: check_published.py ROOT. Prints each fault, and exits with 1 when there is any.
"""
import re
import sys
import tomllib
from pathlib import Path

PUBLISHED = re.compile(r"recorded\s+there|[Tt]utorial|published step", re.S)
NUMBER = re.compile(r"(?<![\w.,/`-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w`]|\.\d)")
UNIT = re.compile(r"\s*(?:samples/s|ms\b|s\b|GB|GiB|%|launches|hours)")


def passages(text):
    """Paragraphs and list items that speak of what was published, each with the table that follows it."""
    text = re.sub(r"^( {4}.*\n)+", "", text, flags=re.M)  # commands
    blocks = [block for part in re.split(r"\n\s*\n", text) for block in re.split(r"\n(?=- )", part)]
    for block, after in zip(blocks, blocks[1:] + [""]):
        if PUBLISHED.search(block):
            table = after if block.rstrip().endswith(":") and after.lstrip().startswith("|") else ""
            yield re.sub(r"`[^`]*`", " ", re.sub(r"\]\([^)]*\)", "]", block + "\n" + table))


def figures_in(passage):
    """Numbers that say how something was: those with a decimal point, and those with a unit."""
    return {n.group() for n in NUMBER.finditer(passage) if "." in n.group() or UNIT.match(passage, n.end())}


def rounds_to(text, values):
    digits = len(text.partition(".")[2])
    low, high = round(min(values), digits), round(max(values), digits)
    return low <= float(text.replace(",", "")) <= high


def check_page(name, text, table):
    quotes, rows, stacks = table["quotes"].get(name, {}), table["rows"], table["stacks"]
    found = [(passage, set(NUMBER.findall(passage))) for passage in passages(text)]
    versions = {number for stack in stacks.values() for number in NUMBER.findall(stack)}
    others = set(table["others"].get(name, []))
    for passage, _ in found:
        for number in sorted(figures_in(passage) - set(quotes) - others - versions):
            yield f"{number} is quoted, and stands in no row of lessons/published.toml: {' '.join(passage.split())[:90]}"
    for figure, places in quotes.items():
        for place in places:
            row, year = place.split()
            if not rounds_to(figure, rows[row][year]):
                yield f"{figure} is not the {row} of {year}: {rows[row][year]}"
            if not any(figure in numbers and year in passage for passage, numbers in found):
                yield f"{figure} is not quoted with its year, {year}"
            if not any(stacks[year] in passage for passage, _ in found):
                yield f"{year} is quoted without its stack, {stacks[year]}"


def check_sheet(sheet, row, stacks):
    """The middle of the published range, for the ladder."""
    published = tomllib.loads(sheet).get("published")
    for year, value, stack in zip(published["years"], published["samples_per_s"], published["stacks"]) if published else []:
        if stack != stacks[str(year)]:
            yield f"the stack of {year} is {stacks[str(year)]}"
        if not min(row[str(year)]) <= float(value) <= max(row[str(year)]):
            yield f"{value} samples/s lie outside of what was published in {year}: {row[str(year)]}"


def faults(root):
    table = tomllib.loads((root / "lessons/published.toml").read_text())
    for row, figures in table["rows"].items():
        if not figures.get("what") or not figures.get("source"):
            yield "lessons/published.toml", f"{row} says not what it is, or from where"
    for page in sorted((root / "lessons").glob("[0-9][0-9]_*/README.md")):
        name = page.parent.name
        answers = page.parent / "reveal.md"  # which has the figures that the page keeps back
        text = page.read_text() + ("\n\n" + answers.read_text() if answers.is_file() else "")
        for fault in check_page(name, text, table):
            yield f"lessons/{name}", fault
        sheet = (page.parent / "lesson.toml").read_text()
        for fault in check_sheet(sheet, table["rows"].get(table["ladder"].get(name), {}), table["stacks"]):
            yield f"lessons/{name}/lesson.toml", fault


def main():
    found = list(faults(Path(sys.argv[1])))
    for place, fault in found:
        print(f"{place}: {fault}")
    print(f"{len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
