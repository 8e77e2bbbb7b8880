"""How programs are hardened, read from their ELF files with readelf.

Usage: check_binaries.py [--hardened] [--prefix FOLDER]... PROGRAM_OR_FOLDER...

Every program must be a position independent executable with RELRO, a stack that is not executable, no segment that
is both writable and executable, no text relocations, and no RUNPATH outside of the prefixes, the system's library
folders and $ORIGIN. With --hardened (the preset `release`) also: bound at start (BIND_NOW, so that RELRO is full),
stack protector and fortified functions in use. The mark of control flow protection (IBT, SHSTK) is not asked for: the
linker drops it, because Debian 12 builds the start files of its C library without it.
Prints each violation as program: rule, and exits with 1 when there is any, with 2 when there is nothing to check.
"""
import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

SYSTEM_FOLDERS = ("/lib", "/usr/lib", "/lib64", "/usr/lib64")


def readelf(option, path):
    done = subprocess.run(["readelf", "--wide", option, str(path)], capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}, timeout=60, check=False)
    if done.returncode != 0:
        raise ValueError(f"readelf cannot read it: {done.stderr.strip()[:200]}")
    return done.stdout


def is_elf(path):
    if not path.is_file() or path.is_symlink():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def programs(places):
    for place in map(Path, places):
        yield from sorted(p for p in place.iterdir() if is_elf(p)) if place.is_dir() else [place]


def runpath_faults(dynamic, prefixes):
    for entry in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic):
        for folder in entry.split(":"):
            place = os.path.normpath(folder)
            good = folder.startswith("$ORIGIN") or any(
                place == root or place.startswith(root + "/") for root in (*SYSTEM_FOLDERS, *prefixes))
            if not good:
                yield f"RUNPATH {folder!r} is outside of the prefix"


def usual_faults(path, header, segments, dynamic, prefixes):
    kind = re.search(r"^\s*Type:\s+(\w+)", header, re.M).group(1)
    library = ".so" in path.name
    if kind != "DYN" or not library and not re.search(r"\bINTERP\b", segments):
        yield "not position independent"
    if "GNU_RELRO" not in segments:
        yield "no RELRO"
    stack = re.search(r"GNU_STACK(?:\s+0x\w+){5}\s+([RWE ]+)", segments)
    if stack is None or "E" in stack.group(1):
        yield "the stack is executable"
    if re.search(r"LOAD(?:\s+0x\w+){5}\s+RWE", segments):
        yield "a segment is writable and executable"
    if "(TEXTREL)" in dynamic:
        yield "text relocations"
    yield from runpath_faults(dynamic, prefixes)


def hardened_faults(dynamic, symbols):
    if not re.search(r"\(BIND_NOW\)|\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW", dynamic):
        yield "bound lazily: RELRO is only partial"
    names = set(re.findall(r"\s(__\w+)(?:@|\s|$)", symbols))
    if "__stack_chk_fail" not in names:
        yield "no stack protector"
    if not any(name.endswith("_chk") for name in names):
        yield "no fortified function"


def faults(path, hardened, prefixes):
    dynamic = readelf("--dynamic", path)
    yield from usual_faults(path, readelf("--file-header", path), readelf("--segments", path), dynamic, prefixes)
    if hardened:
        yield from hardened_faults(dynamic, readelf("--dyn-syms", path))


def main():
    parser = argparse.ArgumentParser(description="Checks how programs are hardened.")
    parser.add_argument("--hardened", action="store_true")
    parser.add_argument("--prefix", action="append", default=[])
    parser.add_argument("places", nargs="+")
    arguments = parser.parse_args()
    prefixes = [os.path.realpath(p) for p in arguments.prefix] + [os.path.abspath(p) for p in arguments.prefix]
    checked = violations = 0
    for path in programs(arguments.places):
        checked += 1
        try:
            found = list(faults(path, arguments.hardened, prefixes))
        except (OSError, ValueError) as error:
            found = [str(error)]
        violations += len(found)
        for fault in found:
            print(f"{path}: {fault}")
    print(f"{checked} programs, {violations} violations")
    return 2 if checked == 0 else int(violations > 0)


if __name__ == "__main__":
    sys.exit(main())
