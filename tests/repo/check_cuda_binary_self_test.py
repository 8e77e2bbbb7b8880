"""check_cuda_binary.py must find each fault in libraries that have it, and none in a sound one; files that it cannot read are refused."""
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from check_cuda_binary import ELF, LDG, NO_BITS, PTX, STG, SYMBOLS, TABLE, Kernel, attributes, wide

CHECK = Path(__file__).parent / "check_cuda_binary.py"
# Two instructions, as nvcc wrote them: LDG.E.128 and STG.E.128; a load of 8 bytes differs from the first in the second word.
WIDE_LOAD, WIDE_STORE = (0x402047981, 0x000EA8000C1E1D00), (0x402007986, 0x000FE2000C101D04)
NARROW_LOAD = (0x402047981, 0x000EA8000C1E1900)


def example(pattern):
    """A name that the pattern of a row matches."""
    for search, replacement in ((r"\\w\+, \\w\+", "Raw, float"), (r"\(float, 4\|__\\w\+, 8\)", "float, 4"), (r"\((\w+)\|\w+\)", r"\1"),
                                (r"(__|Packed)\\w\+", r"\1x"), (r"\\w\+", "float"), (r"\[(\d).*?\]", r"\1"), (r"\\\(", "(")):
        pattern = re.sub(search, replacement, pattern)
    return pattern


def sound():
    return [Kernel(architecture, example(pattern), registers, 1024 * shared, 0, int(loads), int(stores))
            for architecture in (80, 90) for pattern, registers, shared, loads, stores in TABLE]


def elf(sections):
    """A file with these sections: name, type, size, content."""
    sections = [("", 0, 0, b""), *sections]
    names = b"\0".join(name.encode() for name, *_ in sections) + b"\0"
    sections.append((".shstrtab", 3, len(names) + 10, names + b".shstrtab\0"))
    body, headers, name_at = b"", b"", 0
    for name, kind, size, content in sections:
        headers += struct.pack("<2I4Q2I2Q", name_at, kind, 0, 0, 64 + len(body), size, 0, 0, 0, 0)
        body += content
        name_at += len(name) + 1
    return struct.pack("<4s36xQ10x3H", b"\x7fELF", 64 + len(body), 64, len(sections), len(sections) - 1) + body + headers


def cubin(kernels):
    names, symbols, info, sections = b"\0", b"\0" * 24, b"", []
    for number, one in enumerate(kernels, 1):
        symbols += struct.pack("<I20x", len(names))
        names += one.name.encode() + b"\0"
        for attribute, value in ((0x2F, one.registers), (0x11, one.frame)):
            info += struct.pack("<2BH2I", 4, attribute, 8, number, value)
        code = [NARROW_LOAD] + [WIDE_LOAD] * one.loads + [WIDE_STORE] * one.stores
        sections.append((f".text.{one.name}", 1, 16 * len(code), b"".join(struct.pack("<2Q", *words) for words in code)))
        if one.shared:
            sections.append((f".nv.shared.{one.name}", NO_BITS, one.shared, b""))
    tables = [(".strtab", 3, len(names), names), (".symtab", SYMBOLS, len(symbols), symbols), (".nv.info", 1, len(info), info)]
    return elf(tables + sections)


def library(kernels, ptx=90, flags=0):
    """A fat binary of its own for each architecture of the kernels, then one with PTX."""
    fat = b"\0" * 8
    images = [(ELF, each, cubin([one for one in kernels if one.architecture == each])) for each in sorted({one.architecture for one in kernels})]
    for kind, architecture, content in images + [(PTX, ptx, b".version 9.0....")]:
        fat += struct.pack("<I2HQ", 0xBA55ED50, 1, 16, 64 + len(content))
        fat += struct.pack("<2HIQ2I2HI2I3Q", kind, 0x101, 64, len(content), 0, 0, 0, 0, architecture, 0, 0, flags, 0, 0) + content
    return elf([(".nv_fatbin", 1, len(fat), fat)])


def check(*words):
    done = subprocess.run([sys.executable, str(CHECK), *map(str, words)], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    failures = []

    def expect(what, is_so):
        if not is_so:
            failures.append(what)

    with tempfile.TemporaryDirectory() as name:
        place = Path(name) / "library.so"

        def check_library(*arguments, **words):
            place.write_bytes(library(*arguments, **words))
            return check(place, 80, 90)

        expect("sound kernels", check_library(sound()) == (0, f"{2 * len(TABLE)} kernels, 0 violations\n"))
        row = next(n for n, (_, _, shared, loads, stores) in enumerate(TABLE) if shared and loads and stores)
        kernel = f"sm_80, {example(TABLE[row][0])}"
        for change, said in (({"frame": 16}, f"{kernel}: 16 bytes of local memory"),
                             ({"registers": TABLE[row][1] + 1}, f"{kernel}: {TABLE[row][1] + 1} registers; at most {TABLE[row][1]}"),
                             ({"shared": 1024 * TABLE[row][2] + 1}, f"{kernel}: {1024 * TABLE[row][2] + 1} bytes of shared memory; at most"),
                             ({"loads": 0}, f"{kernel}: no load of 16 bytes"), ({"stores": 0}, f"{kernel}: no store of 16 bytes"),
                             ({"name": "new_kernel"}, "sm_80, new_kernel: 0 rows of the table"), ({"architecture": 86}, "sm_80: no kernel")):
            spoilt = sound()
            spoilt[row] = spoilt[row]._replace(**change)
            code, text = check_library(spoilt)
            expect(f"{change}: {code} {text}", code == 1 and said in text)
        code, text = check_library([one for one in sound() if one.architecture == 80])
        expect(f"no sm_90: {code} {text}", code == 1 and text.count("sm_90: no kernel") == len(TABLE))
        code, text = check_library(sound(), ptx=80)
        expect(f"no PTX: {code} {text}", code == 1 and "no PTX of compute_90" in text)
        for flags in (0x2000, 0x8000):
            code, text = check_library(sound(), flags=flags)
            expect(f"compressed: {code} {text}", code == 2 and "--compress-mode=none" in text)

        cut = Path(name) / "cut.so"
        cut.write_bytes(library(sound())[:4000])
        for unreadable in (Path(name) / "missing", CHECK, cut, Path(sys.executable).resolve()):
            code, text = check(unreadable, 80, 90)
            expect(f"{unreadable}: {code} {text}", code == 2 and "cannot be read: " in text and "Traceback" not in text)
    code = struct.pack("<6Q", *WIDE_LOAD, *NARROW_LOAD, *WIDE_STORE)
    expect("loads and stores of 16 bytes", (wide(code, LDG), wide(code, STG)) == (1, 1))
    expect("attributes", list(attributes(struct.pack("<2BH2I2BH", 4, 0x11, 8, 3, 24, 3, 0x1B, 255))) == [(0x11, 3, 24)])
    expect("no words", check()[0] == 1)
    expect("a word for an architecture", check(CHECK, "native") == (2, "['native']: an architecture is a number, such as 90\n"))
    print("\n".join(failures + [f"{len(failures)} failures"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
