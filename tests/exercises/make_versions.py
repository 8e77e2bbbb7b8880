"""One unit that holds all versions of an exercise: skeleton, solution, and the solution with mistakes that people make.

Usage: make_versions.py SOLUTION.cpp MISTAKES.toml PART_FUNCTION... > versions.cpp. Each version is in a namespace of its own. A mistake that
changes a line which is not there, or says what another one says, is an error.
"""
import sys
import tomllib
from pathlib import Path


def skeleton(text):
    """As cut_skeleton (engine/reading/exercise/skeleton.h) does, which a test compares."""
    out, inside = [], False
    for line in text.splitlines():
        bare = line.lstrip()
        indent = line[:len(line) - len(bare)]
        if bare.startswith("// BEGIN "):
            inside = True
            out.append(indent + "// YOU: " + bare[9:])
        elif bare == "// END":
            inside = False
        elif bare.startswith("//> "):
            out.append(indent + bare[4:])
        elif not inside:
            out.append(line)
    return "\n".join(out) + "\n"


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main():
    solution = Path(sys.argv[1])
    text = solution.read_text()
    lesson = solution.parts[-3]
    mistakes = tomllib.loads(Path(sys.argv[2]).read_text())
    functions = sys.argv[3:]
    versions = [("skeleton", skeleton(text), mistakes["skeleton"]), ("solution", text, {"check": "", "says": ""})]
    said = {mistakes["skeleton"]["says"]}
    for wrong in mistakes["wrong"]:
        changed = text
        for change in wrong["change"]:
            if changed.count(change["from"]) != 1:
                sys.exit(f"{sys.argv[2]}: {wrong['name']}: not once in the solution: {change['from']!r}")
            changed = changed.replace(change["from"], change["to"])
        if wrong["says"] in said:
            sys.exit(f"{sys.argv[2]}: {wrong['name']} says what another version says")
        said.add(wrong["says"])
        versions.append((wrong["name"], changed, wrong))
    if len(versions) < 5:
        sys.exit(f"{sys.argv[2]}: less than three mistakes")
    print(f'#include "{lesson}/exercise/part.h"\n#include "exercises/versions.h"\n')
    for name, version, _ in versions:
        print(f'#define mine version_{name}\n#line 1 "{name}/{solution.name}"\n{version}\n#undef mine\n')
    print("namespace isobar {\n\nstd::vector<Version> versions() {\n  std::vector<Version> out;")
    for name, _, expected in versions:
        part = ", ".join(f"version_{name}::{function}" for function in functions)
        words = ", ".join(quoted(expected.get(key, "")) for key in ("check", "says"))
        watch = quoted(expected.get("watch", "address"))
        print(f"  static const exercise::Part part_{name}{{{part}}};")
        print(f'  out.push_back({{"{name}", &part_{name}, {words}, {watch}, "{name}/{solution.name}"}});')
    print("  return out;\n}\n\n}  // namespace isobar")


main()
