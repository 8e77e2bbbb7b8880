"""Does the suite notice? Small mistakes are put into the engine, one at a time, and the tests that depend on the changed file are run.

Usage: try_mutations.py [--seed N] [--count 20] [--build BUILD] [--list]. Draws lines of engine/ by the seed and changes one operator or constant in
each, in place: the tree must have no other changes in engine/, and every file is as it was when the program ends, also by Ctrl-C. A mistake is built
alone with what links it; then the full tier's tests whose programs depend on it run until one fails: first those of the file's own room, then all
others. The outcomes are kept in BUILD/mutations-SEED.json: a call that was cut off continues there. Ends with 1 where a mistake was not noticed;
whether such a one changes any behaviour is a person's to judge.
"""
import argparse
import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]
# What is searched for, and what stands there instead.
CHANGES = [
    (r"(?<=\w\s)<(?=\s\w)", "<="),
    (r"(?<=\w\s)<=(?=\s\w)", "<"),
    (r"(?<=\w\s)>(?=\s\w)", ">="),
    (r"(?<=\w\s)>=(?=\s\w)", ">"),
    (r"(?<=\s)==(?=\s)", "!="),
    (r"(?<=\s)!=(?=\s)", "=="),
    (r"(?<=\s)&&(?=\s)", "||"),
    (r"(?<=\s)\|\|(?=\s)", "&&"),
    (r"(?<=\w\s)\+(?=\s[\w(])", "-"),
    (r"(?<=\w\s)-(?=\s[\w(])", "+"),
    (r"(?<=\w\s)/(?=\s[\w(])", "*"),
    (r"(?<=return )true(?=;)", "false"),
    (r"(?<=return )false(?=;)", "true"),
    (r"\+\+(?=\w+;)", "--"),
    (r"(?<=\s\+ )1(?=\W)", "2"),
    (r"(?<=\s- )1(?=\W)", "2"),
]


def code_of(line):
    """The line with its strings, characters, template arguments and comment blanked, of the same length."""
    line = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', lambda found: " " * len(found.group()), line)
    line = re.sub(r"//.*", lambda found: " " * len(found.group()), line)
    return re.sub(r"<[\w:, *&]*>", lambda found: "_" * len(found.group()), line)


def candidates():
    """(file, line number, column, length, text instead) of all that may be changed; the CUDA plugin runs on a GPU only."""
    for file in sorted((HOME / "engine").rglob("*.cpp")):
        if "cuda" in file.parts or file.name.endswith("_cuda.cpp"):
            continue
        raw = False
        for number, line in enumerate(file.read_text().splitlines()):
            if 'R"' in line or raw:  # texts of several lines
                raw = ')"' not in line and (raw or 'R"' in line)
                continue
            if line.lstrip().startswith(("#", "//", "///", "throw ", "template", "using ", "static_assert")):
                continue
            code = code_of(line)
            for pattern, instead in CHANGES:
                for found in re.finditer(pattern, code):
                    yield str(file.relative_to(HOME)), number, found.start(), len(found.group()), instead


def draw(seed, count):
    """Files first, so that a long file is no likelier than a short one; no file twice."""
    by_file = {}
    for one in candidates():
        by_file.setdefault(one[0], []).append(one)
    chance = random.Random(seed)
    files = sorted(by_file)
    chance.shuffle(files)
    return [chance.choice(by_file[file]) for file in files[:count]]


def ninja(build, *words):
    return subprocess.run(["ninja", "-C", str(build), *words], capture_output=True, text=True)


def edges_of(build):
    """For each file that ninja makes those that it needs."""
    inputs = {}
    for match in re.finditer(r"^build ([^:|]+?)(?: \|[^:]*)?: \S+(.*)$", (build / "build.ninja").read_text(), re.M):
        needs = [word for word in match.group(2).split() if word not in ("|", "||")]
        for output in match.group(1).split():
            inputs.setdefault(output, set()).update(needs)
    return inputs


def users_of(build, file, inputs):
    """The programs that depend on a source, by links and by what they start."""
    reached, unit = set(), None
    for line in ninja(build, "-t", "deps").stdout.splitlines():
        if match := re.match(r"(\S+): #deps", line):
            unit = match.group(1)
        elif (build / line.strip()).resolve() == HOME / file:
            reached.add(unit)
    before = -1
    while len(reached) != before:
        before = len(reached)
        reached |= {output for output, needs in inputs.items() if not needs.isdisjoint(reached)}
    return {Path(name).name for name in reached if name.startswith("bin/")}


def room_of(programs, file, inputs):
    """Those of the test programs that are made in the folder of tests/ that has the name of the source's folder, or of the one above it."""
    for folder in Path(file).relative_to("engine").parents:
        near = {name for name in programs if any(need.startswith(f"tests/{folder}/CMakeFiles/") for need in inputs.get(f"bin/{name}", ()))}
        if near:
            return near
    return set()


def tests_of(build, programs):
    """Names of the full tier's tests whose command names one of the programs."""
    listed = json.loads(subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout)
    names = []
    for test in listed["tests"]:
        labels = next((p["value"] for p in test["properties"] if p["name"] == "LABELS"), [])
        if "setup" not in labels and any(Path(word).name in programs for word in test.get("command", [])):
            names.append(test["name"])
    return names


def failing(build, names):
    """Runs the tests until one fails, and returns the names of those that failed."""
    if not names:
        return []
    run = subprocess.run(["ctest", "--test-dir", str(build), "-j6", "--stop-on-failure", "--timeout", "300", "-R", f"^({'|'.join(names)})$"],
                         capture_output=True, text=True)
    failed = re.findall(r"Test +#\d+: (\S+) .*\*\*\*(?!Skipped|Not Run)", run.stdout)
    return failed or ([] if run.returncode == 0 else ["ctest"])


def attempt(build, file, number, column, length, instead):
    path = HOME / file
    before = path.read_text()
    lines = before.splitlines(keepends=True)
    line = lines[number]
    lines[number] = line[:column] + instead + line[column + length:]
    began = time.monotonic()
    found = {"file": file, "line": number + 1, "was": line.strip(), "is": lines[number].strip()}
    inputs = edges_of(build)
    programs = users_of(build, file, inputs)
    near = room_of(programs, file, inputs)
    tried = 0
    try:
        path.write_text("".join(lines))
        for round_of in (near, programs - near):
            if not round_of:
                continue
            built = ninja(build, "-j2", *sorted(f"bin/{program}" for program in round_of))
            if built.returncode != 0:
                return {**found, "outcome": "does not compile", "seconds": round(time.monotonic() - began)}
            tests = tests_of(build, round_of)
            tried += len(tests)
            if failed := failing(build, tests):
                return {**found, "outcome": "noticed", "by": " ".join(failed), "tests": tried, "seconds": round(time.monotonic() - began)}
        return {**found, "outcome": "not noticed", "tests": tried, "seconds": round(time.monotonic() - began)}
    finally:
        path.write_text(before)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--seed", type=int, default=50)
    words.add_argument("--count", type=int, default=20)
    words.add_argument("--build", type=Path, default=HOME / "build")
    words.add_argument("--list", action="store_true", help="print what is drawn, and change nothing")
    asked = words.parse_args()
    build = asked.build.resolve()
    drawn = draw(asked.seed, 3 * asked.count)  # some do not compile
    if asked.list:
        for file, number, column, length, instead in drawn[:asked.count]:
            line = (HOME / file).read_text().splitlines()[number]
            print(f"{file}:{number + 1}: {line.strip()}\n    {line[column:column + length]} -> {instead}")
        return 0
    if subprocess.run(["git", "-C", str(HOME), "diff", "--quiet", "HEAD", "--", "engine"]).returncode != 0:
        sys.exit("try_mutations: engine/ has changes that are not committed\n  hint: commit them, or git stash")
    if not (build / "build.ninja").is_file():
        sys.exit(f"try_mutations: nothing is built in {build}\n  hint: ./isobar test")
    kept = build / f"mutations-{asked.seed}.json"
    results = json.loads(kept.read_text()) if kept.is_file() else []
    for one in drawn[len(results):]:
        if sum(result["outcome"] != "does not compile" for result in results) >= asked.count:
            break
        results.append(attempt(build, *one))
        kept.write_text(json.dumps(results, indent=1))
        last = results[-1]
        print(f"{len(results)} {last['outcome']} {last.get('by', '')} {last['seconds']} s\n  {last['file']}:{last['line']}: "
              f"{last['was']}\n  -> {last['is']}", flush=True)
    counts = {outcome: sum(one["outcome"] == outcome for one in results) for outcome in ("noticed", "does not compile", "not noticed")}
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()), f"in {sum(one['seconds'] for one in results)} s")
    return 1 if counts["not noticed"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("try_mutations: stopped; the same command continues")
