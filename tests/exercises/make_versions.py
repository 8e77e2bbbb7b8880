"""One unit that holds versions of an exercise: skeleton, solution, and the solution with mistakes that people make.

Usage: make_versions.py SOLUTION.cpp ISOBAR_CLI WATCH OUT.cpp. OUT.cpp stays as it is where nothing changes. Mistakes stand in mistakes.toml beside the
solution, the functions of a part in part.cpp.
WATCH: "thread" takes the solution and what only that sanitizer finds, another all else; of what is left out it holds the words. Each version
is in a namespace of its own. A mistake that changes a line which is not there, or says what another one says, is an error; so is a [[mistake]] of
exercise.toml that none of them shows. What a mistake
neither changes nor reaches is the solution's, so that it is compiled once.
"""
import re
import subprocess
import sys
import tomllib
from pathlib import Path


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def blocks_of(text):
    """(first line, name, signature, text) of what stands in the namespace, one after the other, and the lines up to there and behind it."""
    lines = text.splitlines()
    begin, end = lines.index("namespace isobar::mine {") + 1, lines.index("}  // namespace isobar::mine")
    blocks, at = [], begin
    for i in range(begin, end):
        line = lines[i].split(" //")[0]
        if re.match(r"(?:}|[^ /#].*[;}])$", line):  # the last line of a block
            code = "\n".join(re.sub(r"//.*", "", one) for one in lines[at:i + 1]).strip()
            signature = re.split(r"[{;]", code)[0]
            found = re.match(r"(?:struct|class) (\w+)|(?:using|constexpr \S+) (\w+) =|[^(]*?(\w+)\(", signature)
            blocks.append((at + 1, next(filter(None, found.groups())) if found else None, signature, code, "\n".join(lines[at:i + 1])))
            at = i + 1
    return blocks, lines[:begin]


def only_what_differs(text, solution, file):
    """The text of a mistake, with the solution's where it is the same and takes nothing that is not."""
    def mentions(code, names):
        return any(re.search(rf"\b{name}\b", code) for name in names)

    blocks, head = blocks_of(text)
    same = {name: code for _, name, _, code, _ in blocks_of(solution)[0]}
    named = [name for _, name, _, _, _ in blocks if name]
    if len(set(named)) != len(named):
        sys.exit(f"{file}: two of one name")
    own, before = {name for _, name, _, code, _ in blocks if name and same.get(name) != code}, None
    while own != before:
        before = set(own)
        for _, name, signature, code, _ in blocks:
            if name and mentions(code, own):
                own.add(name)
            if name in own and "(" in signature:  # a call of it would find the solution's too, by such a type
                own |= {other for other in named if mentions(signature, [other])}
    out = ["#line 1 " + quoted(file), *head]
    for line, name, _, _, block in blocks:
        out.append(f"#line {line} {quoted(file)}\n{block}" if not name or name in own else f"using version_solution::{name};")
    return "\n".join([*out, "}"])


def main():
    solution = Path(sys.argv[1])
    text = solution.read_text()
    lesson = solution.parts[-3]
    sheet = solution.parent / "mistakes.toml"
    mistakes = tomllib.loads(sheet.read_text())
    watch, target = sys.argv[3], Path(sys.argv[4])
    functions = re.findall(r"isobar::mine::(\w+)", (solution.parent / "part.cpp").read_text())
    exercise = tomllib.loads((solution.parent / "exercise.toml").read_text())
    checks = {check["name"] for check in exercise["check"]}
    finds = [mistake["finds"] for mistake in exercise.get("mistake", [])]
    print_skeleton = [sys.argv[2], "exercise", lesson, "--print"]
    skeleton = subprocess.run(print_skeleton, capture_output=True, text=True, check=True).stdout
    versions = [("skeleton", skeleton, mistakes["skeleton"]), ("solution", text, {"check": "", "says": ""})]
    said = {mistakes["skeleton"]["says"]}
    for wrong in mistakes["wrong"]:
        if wrong["check"] and wrong["check"] not in checks:
            sys.exit(f"{sheet}: {wrong['name']}: the exercise has no check {wrong['check']}")
        changed = text
        for change in wrong["change"]:
            if changed.count(change["from"]) != 1:
                sys.exit(f"{sheet}: {wrong['name']}: not once in the solution: {change['from']!r}")
            changed = changed.replace(change["from"], change["to"])
        if wrong["says"] in said:
            sys.exit(f"{sheet}: {wrong['name']} says what another version says")
        said.add(wrong["says"])
        versions.append((wrong["name"], changed, wrong))
    if len(versions) < 5:
        sys.exit(f"{sheet}: less than three mistakes")
    hinted = {name: next((one for one in finds if one in wrong["says"]), "") for name, _, wrong in versions}
    for one in set(finds) - set(hinted.values()):
        sys.exit(f"{solution.parent}/exercise.toml: no mistake shows {one!r}")
    out = [f'#include "{lesson}/exercise/part.h"\n#include "exercises/versions.h"\n']
    fill = ["namespace isobar {\n\nstd::vector<std::string> finds_of_mistakes() { return {" + ", ".join(map(quoted, finds)) + "}; }",
            "std::vector<Version> versions() {\n  std::vector<Version> out;"]
    for name, version, expected in versions:
        words = ", ".join(quoted(expected.get(key, "")) for key in ("check", "says"))
        part = "nullptr"
        if name == "solution" or (watch == "thread") == (expected.get("watch") == "thread"):
            file = f"{name}/{solution.name}"
            whole = f"#line 1 {quoted(file)}\n{version}"
            code = whole if name in ("skeleton", "solution") else only_what_differs(version, text, file)
            out.append(f"#define mine version_{name}\n{code}\n#undef mine\n")
            part = f"&part_{name}"
            of_part = ", ".join(f"version_{name}::{function}" for function in functions)
            fill.append(f"  static const exercise::Part part_{name}{{{of_part}}};")
        fill.append(f'  out.push_back({{"{name}", {part}, {words}, "{name}/{solution.name}", {quoted(hinted[name])}}});')
    fill.append("  return out;\n}\n\n}  // namespace isobar\n")
    text = "\n".join(out + fill)
    if not target.is_file() or target.read_text() != text:
        target.write_text(text)


main()
