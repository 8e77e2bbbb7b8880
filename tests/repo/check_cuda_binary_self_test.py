"""check_cuda_binary.py must find each fault in kernels that have it, and none in sound ones; files that it cannot read are refused."""
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from check_cuda_binary import ELF, LDG, STG, TABLE, Kernel, attributes, faults, images, wide

CHECK = Path(__file__).parent / "check_cuda_binary.py"
FAT = "<I2HQ2HIQ2I2HI2I3Q"  # a header, and that of its one image


def example(pattern):
    """A name that the pattern of a row matches."""
    for search, replacement in ((r"\\w\+, \\w\+", "Raw, float"), (r"\(float, 4\|__\\w\+, 8\)", "float, 4"), (r"\((\w+)\|\w+\)", r"\1"),
                                (r"(__|Packed)\\w\+", r"\1x"), (r"\\w\+", "float"), (r"\[(\d).*?\]", r"\1"), (r"\\\(", "(")):
        pattern = re.sub(search, replacement, pattern)
    return pattern


def sound():
    return [Kernel(architecture, example(pattern), registers, 0, int(loads), int(stores))
            for architecture in (80, 90) for pattern, registers, loads, stores in TABLE]


def fat(flags):
    return b"\0" * 8 + struct.pack(FAT, 0xBA55ED50, 1, 16, 64 + 16, ELF, 0x101, 64, 16, 0, 0, 0, 0, 90, 0, 0, flags, 0, 0) + b"sixteen bytes..."


def check(*words):
    done = subprocess.run([sys.executable, str(CHECK), *map(str, words)], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    failures = []

    def expect(what, is_so):
        if not is_so:
            failures.append(what)

    expect("sound kernels", not list(faults(sound(), {80, 90}, [80, 90])))
    row = next(n for n, (_, _, loads, stores) in enumerate(TABLE) if loads and stores)
    for change, said in (({"frame": 16}, "16 bytes of local memory"), ({"registers": TABLE[row][1] + 1}, "registers; at most"),
                         ({"loads": 0}, "no load of 16 bytes"), ({"stores": 0}, "no store of 16 bytes"), ({"name": "new_kernel"}, "0 rows of the table"),
                         ({"architecture": 86}, "sm_80: no kernel")):
        spoilt = sound()
        spoilt[row] = spoilt[row]._replace(**change)
        found = list(faults(spoilt, {90}, [80, 90]))
        expect(f"{change}: {found}", any(said in one for one in found))
    expect("no PTX", any("no PTX of compute_90" in one for one in faults(sound(), {80}, [80, 90])))
    expect("an image", list(images(fat(0))) == [(ELF, 90, b"sixteen bytes...")])
    for flags in (0x2000, 0x8000):
        try:
            list(images(fat(flags)))
            failures.append("a compressed image is read")
        except ValueError as error:
            expect(str(error), "--compress-mode=none" in str(error))
    code = struct.pack("<6Q", 0x402047981, 0x000EA8000C1E1D00, 0x402047981, 0x000EA8000C1E1900, 0x402007986, 0x000FE2000C101D04)
    expect("loads and stores of 16 bytes", (wide(code, LDG), wide(code, STG)) == (1, 1))
    expect("attributes", list(attributes(struct.pack("<2BH2I2BH", 4, 0x11, 8, 3, 24, 3, 0x1B, 255))) == [(0x11, 3, 24)])
    with tempfile.TemporaryDirectory() as name:
        cut = Path(name) / "cut.so"
        cut.write_bytes(Path(sys.executable).resolve().read_bytes()[:4000])
        for place in (Path(name) / "missing", CHECK, cut, Path(sys.executable).resolve()):
            code, text = check(place, 80, 90)
            expect(f"{place}: {code} {text}", code == 2 and "cannot be read: " in text and "Traceback" not in text)
    expect("no words", check()[0] == 1)
    expect("a word for an architecture", check(CHECK, "native") == (2, "['native']: an architecture is a number, such as 90\n"))
    print("\n".join(failures + [f"{len(failures)} failures"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
