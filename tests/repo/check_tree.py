"""Rules about the tree: who may include whom, lengths, lesson pages, and words that do not belong.

Usage: check_tree.py ROOT. Prints each violation as file:line: rule, and exits with 1 when there is any.
"""
import difflib
import re
import sys
import tomllib
from pathlib import Path

# Folders of a wing: left may not include right, those of one step are equals and do not include each other. What trains and what reads
# runs may include all of base, and nothing of each other.
WINGS = {
    "base": [["core"], ["vector"], ["ring", "foreign"], ["record", "config", "fields", "launch"], ["pipeline"], ["samples", "formula", "check", "jobs", "exercise", "draw"], ["cluster"], ["running", "start"]],
    "training": [["cuda"], ["kernels"], ["device"], ["fused"], ["comm", "data"], ["context"], ["model"], ["train"], ["shard", "pipeline"], ["compress"], ["faults"], ["run"]],
    "reading": [["log"], ["analyse"], ["plot", "course", "imported"], ["page"], ["cli"]],
}
# The window, likewise; what stands in no folder puts it together.
WINDOW = [["text"], ["widgets"], ["state", "tab"], ["panels"]]
# Headers of CUDA: only what is compiled into the plugin sees them, so that programs run where no CUDA is.
CUDA_HEADER = re.compile(r"(cuda\w*\.h|driver_types\.h|nccl\.h|(c10|ATen)/cuda/.*|torch/cuda\.h)$")
IN_PLUGIN = re.compile(r"engine/training/(cuda/|device/cuda_plugin\.cpp$)|.*\.cuh?$")
BANNERS = ["Configure", "Data", "Model", "Train", "Report"]
MOST_LINES, MOST_COLUMNS, MOST_FUNCTION_LINES = 400, 119, 60
WORDS = [r"\bTODO\b", r"\bFIXME\b", r"\bXXX\b", r"\bHACK\b", r"simplified for now", r"not implemented"]
SHELL = [r"\bsystem\s*\(", r"\bpopen\s*\(", r"\"sh\",\s*\"-c\""]


def folders_of(wing):
    return {folder for step in WINGS[wing] for folder in step}


def up_to(steps, folder, before):
    """`before` and the folders left of `folder`, with it; None: it stands in no step."""
    for step in steps:
        if folder in step:
            return before | {folder}
        before = before | set(step)
    return None


def allowed(wing, folder):
    """Folders whose headers those of engine/WING/FOLDER may include; None: it stands in no step."""
    return up_to(WINGS.get(wing, []), folder, set() if wing == "base" else folders_of("base"))


def includes(text):
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+["<]([^">]+)[">]', line)
        if match:
            yield number, match.group(1)


def check_includes(root, path, text):
    place = path.relative_to(root).parts
    folders = {folder.name for folder in (root / "engine").glob("*/*") if folder.is_dir()}
    if place[0] == "engine":
        may = allowed(*place[1:3]) if len(place) > 3 else None
        if may is None:
            yield 1, f"{'/'.join(place[:-1])} stands in no step of the include table"
            return
    elif place[0] == "gui":
        window = {folder for step in WINDOW for folder in step}
        may = folders_of("base") | {"log", "analyse", "course", "plot"} | (up_to(WINDOW, place[1], set()) or set() if len(place) > 2 else window)
        folders |= window
    elif place[0] == "datasets":
        may = folders_of("base")
    elif place[0] == "lessons" and len(place) > 3 and place[2] == "view":
        may = folders_of("base") | folders_of("reading")
    elif place[0] in ("lessons", "examples"):
        may = folders_of("base") | folders_of("training")
    else:
        return
    torch_free = place[0] in ("gui", "datasets") or place[:2] in (("engine", "base"), ("engine", "reading"))
    torch_free = torch_free or place[:3] == ("engine", "training", "kernels")
    torch_free = torch_free or path.suffix == ".h" and place[:3] == ("engine", "training", "cuda")  # programs see its headers
    torch_free = torch_free or path.suffix in (".cu", ".cuh")
    for number, name in includes(text):
        first = name.split("/")[0]
        if place[0] == "gui" and len(place) > 2 and (root / "gui" / name).is_file() and "/" not in name:
            yield number, f"{'/'.join(place[:-1])} may not include {name}"
        if first in folders and "/" in name and first not in may:
            yield number, f"{'/'.join(place[:-1])} may not include {name}"
        if torch_free and first in ("torch", "ATen", "c10"):
            yield number, f"{'/'.join(place[:-1])} must not know torch: {name}"
        if CUDA_HEADER.match(name) and not IN_PLUGIN.match("/".join(place)):
            yield number, f"only the plugin sees CUDA headers: {name}"
        if path.suffix == ".h" and name in ("torch/torch.h", "ATen/ATen.h"):
            yield number, f"{name} in a header costs every file 8 to 15 seconds"
        rooms = ("view",) if "view" in place else ("exercise", "parts")  # programs that read runs link no page's parts
        own = place[0] == "lessons" and name.startswith(tuple(f"{place[1]}/{room}/" for room in rooms))
        if place[0] == "lessons" and first in ("lessons", "gui") or re.match(r"\d\d_", first) and not own:
            yield number, f"a lesson includes neither the window nor another lesson: {name}"


def check_lengths(path, text):
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        yield MOST_LINES, f"{len(lines)} lines; at most {MOST_LINES}"
    begin = None
    is_page = path.name == "main.cpp" and path.parent.parent.name == "lessons"  # one function, as long as the page
    for number, line in enumerate(lines, 1):
        if len(line) > MOST_COLUMNS:
            yield number, f"{len(line)} columns; at most {MOST_COLUMNS}"
        if path.suffix == ".cpp" and re.match(r"^[A-Za-z].*[({,]\s*$|^[A-Za-z].*\)\s*(const|noexcept)?\s*\{$", line):
            if begin is None and not re.match(r"^(namespace|struct|class|enum|using)\b", line):
                begin = number
        if line.startswith("}") and begin is not None:
            if line == "}" and number - begin + 1 > MOST_FUNCTION_LINES and not is_page:
                yield begin, f"a function of {number - begin + 1} lines; at most {MOST_FUNCTION_LINES}"
            begin = None


def check_words(text):
    for number, line in enumerate(text.splitlines(), 1):
        for word in WORDS + SHELL:
            if re.search(word, line):
                yield number, f"matches {word}"


def check_lesson_names(root, text):
    """Engine and window know no lesson: it registers what it adds, and help gives a number for an example."""
    names = "|".join(sheet.parent.name for sheet in (root / "lessons").glob("*/lesson.toml"))
    for number, line in enumerate(text.splitlines(), 1):
        if names and (found := re.search(rf"\b({names})\b", line)):
            yield number, f"names the lesson {found[1]}"


def code_lines(text):
    """Lines that are code: no comments, no blanks."""
    lines = (re.sub(r"//.*", "", line).strip() for line in text.splitlines())
    return [line for line in lines if line]


def check_lesson(root, folder):
    page = folder / "main.cpp"
    text = page.read_text()
    count = len(text.splitlines())
    if not 60 <= count <= 120:
        yield page, 1, f"a lesson page has 60 to 120 lines, this one {count}"
    for number, word in enumerate(["Run:", "Watch:", "Next:"]):
        if not re.match(rf"// {word}", text.splitlines()[number]):
            yield page, number + 1, f"the header's line {number + 1} begins with // {word}"
    found = re.findall(r"// ---- (\w+) -+$", text, re.M)
    if found != BANNERS:
        yield page, 1, f"banners are {found}, not {BANNERS}"
    if re.search(r"\b(class|struct)\b\s+\w+\s*[{:]", text):
        yield page, 1, "a lesson page declares no class"
    for path in [page, *folder.glob("*.md")]:
        for name in set(re.findall(r"\b\d\d_[a-z][a-z_]*", path.read_text())):
            if not (root / "lessons" / name).is_dir():
                yield path, 1, f"there is no lesson {name}"
    sheet = tomllib.loads((folder / "lesson.toml").read_text())
    if sheet.get("previous"):
        before = code_lines((root / "lessons" / sheet["previous"] / "main.cpp").read_text())
        changed = sum(1 for line in difflib.ndiff(before, code_lines(text)) if line[0] in "+-")
        if changed > sheet["diff_budget"]:
            yield page, 1, f"{changed} code lines differ from {sheet['previous']}; the budget is {sheet['diff_budget']}"


REMOVES = re.compile(r"\bremove_all\(|::unlink\(|::rmdir\(|\bfs::remove\(|filesystem::remove\(")


def check_removals(root):
    """What removes files stands in one table, with what it may take."""
    table = root / "tests/repo/removals.txt"
    told = {}
    for line in table.read_text().splitlines() if table.exists() else []:
        if line and not line.startswith("#"):
            name, count, reason = line.split(None, 2)
            told[name] = int(count)
    for top in ("engine", "lessons", "gui", "datasets"):
        for path in sorted((root / top).rglob("*")) if (root / top).is_dir() else []:
            if path.suffix in (".h", ".cpp", ".cu", ".cuh"):
                name, count = str(path.relative_to(root)), len(REMOVES.findall(path.read_text()))
                if count != told.pop(name, 0):
                    yield path, 1, f"{count} calls remove files; tests/repo/removals.txt says otherwise"
    for name in told:
        yield table, 1, f"{name} is not there"


TYPE = re.compile(r"(?:template.*>\s*)?(?:struct|class|enum class|enum|union)\s+(?:alignas\(\w+\)\s+)?(\w+)\s*(?:final\s*)?[:{](?!:)")


def types_in(text):
    """Types that other files see: two of one name would meet when they are linked into one program."""
    private = False
    for number, line in enumerate(text.splitlines(), 1):
        private = line == "namespace {" or (private and line != "}  // namespace")
        match = TYPE.match(line)
        if match and not private:
            yield number, match.group(1)


def check_types(root):
    first = {}
    for top in ("engine", "lessons", "gui", "datasets", "examples", "tests"):
        for path in sorted(path for ending in ("h", "cpp", "cu", "cuh") for path in (root / top).rglob("*." + ending)):
            for number, name in types_in(path.read_text()):
                if name == "Part" and path.parent.name == "exercise":
                    continue  # what a learner wrote: one a lesson, and never two in a program
                there = first.setdefault(name, path)
                if there != path:
                    yield path, number, f"{name} is a type of {there.relative_to(root)} already"


ROOTS = ("engine/base", "engine/training", "engine/reading", "gui")


def needs(root):
    """Of each unit, a header with its source, the units that it includes."""
    out = {}
    for path in (path for top in ("engine", "gui") for path in sorted((root / top).rglob("*"))):
        if path.suffix in (".h", ".cpp", ".cu", ".cuh"):
            unit = path.with_suffix("")
            there = [root / top / name for _, name in includes(path.read_text()) for top in ROOTS]
            out.setdefault(unit, set()).update(other.with_suffix("") for other in there if other.is_file())
            out[unit].discard(unit)
    return out


def check_circles(root):
    """Taken away is, again and again, who needs nothing that is left and who is needed by nothing that is left."""
    left = needs(root)
    while True:
        needed = {unit for others in left.values() for unit in others}
        free = [unit for unit in left if not left[unit] & left.keys() or unit not in needed]
        if not free:
            break
        for unit in free:
            del left[unit]
    if left:
        circle = sorted(left)
        path = next(path for path in (circle[0].with_suffix(".h"), circle[0].with_suffix(".cpp")) if path.is_file())
        yield path, 1, "includes itself over others: " + ", ".join(str(unit.relative_to(root)) for unit in circle)


MOST_PUBLIC, MOST_MEMBERS = 15, 20
# Each public function of these is one call of an interface, not a part of a job.
WIDE = {"CudaPlugin": "what the plugin offers", "Plugin": "the same", "Comm": "collectives and exchanges", "CommCore": "the same behind it", "Ui": "the window's elements", "Canvas": "what can be drawn"}


def check_classes(path, text):
    for match in re.finditer(r"^(class|struct) (\w+)[^;{]*\{\n(.*?)^\};", text, re.M | re.S):
        kind, name, body = match.groups()
        public, functions, members = kind == "struct", set(), 0
        for line in re.sub(r"//.*", "", body).splitlines():
            if re.match(r" (public|protected|private):", line):
                public = "public" in line
            elif re.match(r"  (?!using|friend|struct|class|enum|static constexpr)[\w:]", line):
                function = re.match(r"  [^=;{]*?(\w+)\(", line)
                if function and public and function[1] != name and "operator" not in line:
                    functions.add(function[1])
                elif not function and re.search(r"\w_(\s*=[^;]*|\{[^;]*|\[[^;]*)?;", line):
                    members += line.split("{")[0].split("=")[0].count(",") + 1 if "<" not in line else 1
        number = text[:match.start()].count("\n") + 1
        if len(functions) > MOST_PUBLIC and name not in WIDE:
            yield number, f"{name} has {len(functions)} public functions; at most {MOST_PUBLIC}"
        if members > MOST_MEMBERS:
            yield number, f"{name} has {members} members; at most {MOST_MEMBERS}"


def violations(root):
    yield from check_removals(root)
    yield from check_types(root)
    yield from check_circles(root)
    for top in ("engine", "lessons", "gui", "datasets", "examples", "tests"):
        for path in sorted((root / top).rglob("*")) if (root / top).is_dir() else []:
            if path.suffix not in (".h", ".cpp", ".cu", ".cuh", ".js", ".css"):
                continue
            text = path.read_text()
            checks = [check_lengths(path, text)]
            if path.suffix not in (".js", ".css"):
                checks.append(check_includes(root, path, text))
            if top in ("engine", "gui"):
                checks.append(check_classes(path, text))
                checks.append(check_lesson_names(root, text))
            if top != "tests":
                checks.append(check_words(text))
            for check in checks:
                for number, rule in check:
                    yield path, number, rule
    for folder in sorted((root / "lessons").glob("[0-9][0-9]_*")):
        if not (folder / "lesson.toml").exists():  # runs were predicted for a lesson that is yet to come
            continue
        yield from check_lesson(root, folder)


def main():
    root = Path(sys.argv[1]).resolve()
    found = list(violations(root))
    for path, number, rule in found:
        print(f"{path.relative_to(root)}:{number}: {rule}")
    print(f"{len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
