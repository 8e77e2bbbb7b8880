"""Makes NOTICES.md from the lists of what is fetched (cmake/setup/packages_*.txt and the wheels).

Usage: make_notices.py [--check]. With --check nothing is written: exit code 1 when NOTICES.md is not what the lists say, or when
something fetched has no licence below.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETUP = ROOT / "cmake/setup"
# Main licence of each, as its package states it; the package's own copyright file has the rest.
LICENCES = {
    "ca-certificates": "MPL-2.0", "catch2": "BSL-1.0", "ccache": "GPL-3.0-or-later", "chromium": "BSD-3-Clause", "cmake": "BSD-3-Clause",
    "debootstrap": "MIT",
    "fonts-inter": "OFL-1.1", "fonts-jetbrains-mono": "OFL-1.1", "g++": "GPL-3.0-or-later with the GCC runtime exception",
    "iproute2": "GPL-2.0-or-later", "libboost-dev": "BSL-1.0", "libc6-dev": "LGPL-2.1-or-later", "libcli11-dev": "BSD-3-Clause", "libegl1": "MIT", "libfmt-dev": "MIT",
    "libfreetype-dev": "FTL or GPL-2.0", "libgl-dev": "MIT", "libgl1-mesa-dri": "MIT", "libglfw3-dev": "Zlib", "libgloo-dev": "BSD-3-Clause",
    "libhdf5-dev": "BSD-3-Clause", "libimgui-dev": "MIT", "libkissfft-dev": "BSD-3-Clause", "libmd4c-dev": "MIT",
    "libprotozero-dev": "BSD-2-Clause", "libsimdjson-dev": "Apache-2.0 or MIT", "libstb-dev": "MIT or public domain",
    "libtomlplusplus-dev": "MIT", "munge": "GPL-3.0-or-later, LGPL-3.0-or-later", "nginx-light": "BSD-2-Clause", "ninja-build": "Apache-2.0",
    "nlohmann-json3-dev": "MIT",
    "pkgconf": "ISC", "python3": "PSF-2.0", "python3-pip": "MIT", "slurm-client": "GPL-2.0-or-later with the OpenSSL exception",
    "slurmctld": "GPL-2.0-or-later with the OpenSSL exception", "slurmd": "GPL-2.0-or-later with the OpenSSL exception",
    "tidy": "W3C", "unzip": "Info-ZIP", "xdotool": "BSD-3-Clause", "xvfb": "MIT", "zlib1g-dev": "Zlib",
    "torch": "BSD-3-Clause", "filelock": "Unlicense", "fsspec": "BSD-3-Clause", "h5py": "BSD-3-Clause", "jinja2": "BSD-3-Clause",
    "markupsafe": "BSD-3-Clause", "mpmath": "BSD-3-Clause", "networkx": "BSD-3-Clause", "numpy": "BSD-3-Clause", "sympy": "BSD-3-Clause",
    "typing-extensions": "PSF-2.0", "nvidia-nccl-cu13": "BSD-3-Clause", "nvidia-cuda-cccl": "Apache-2.0 with the LLVM exception",
}
NVIDIA = "NVIDIA's own (EULA of the CUDA Toolkit and of the library)"


def packages(part):
    for line in (SETUP / f"packages_{part}.txt").read_text().splitlines():
        name, _, why = line.partition("#")
        if name.strip():
            yield name.split("|")[0].strip(), re.sub(r"\s*\([^()]*\)$", "", why.strip())


def wheels(file):
    for line in (SETUP / file).read_text().splitlines():
        if match := re.match(r"([A-Za-z0-9_-]+)==", line):
            yield match.group(1), ""


def licence(name):
    if name.startswith("nvidia-") and name not in LICENCES:
        return NVIDIA
    return LICENCES[name]


PARTS = [
    ("Every run", "Fetched by the first command that builds. The libraries among them are linked into our programs.",
     [*packages("fetch"), *packages("base")]),
    ("libtorch", "Every run, as the files of these wheels.", list(wheels("wheels.txt"))),
    ("libtorch's CUDA part", "With --cuda, and its compiler where there is no CUDA toolkit.", [*wheels("wheels_cuda.txt"), *wheels("wheels_nvcc.txt")]),
    ("The window", "With ./isobar gui, linked into it; the fonts are read by it. Boost with ./isobar gui --browser.", [*packages("gui"), *packages("browser")]),
    ("Tests", "With ./isobar test and for pictures without a display; Catch2 is linked into tests, all else is run. Chromium, nginx and tidy with "
     "./isobar test --browser.",
     [*packages("test"), *packages("display"), *packages("slurm"), *packages("browsers")]),
    ("Benches", "With ./isobar bench, as what they compare with; run by Python, never linked.", list(wheels("peers.txt"))),
]


def text():
    yield "# Notices of third parties"
    yield ""
    yield "Nothing of these is in this tree: Debian packages and wheels are fetched from their own sources when a command needs them, and bring their"
    yield "licences with them (`/usr/share/doc/PACKAGE/copyright`, `*.dist-info`). Made by `python3 docs/make_notices.py` from the lists in cmake/setup."
    for title, remark, entries in PARTS:
        yield from ("", f"## {title}", "", remark, "")
        explained = any(why for _, why in entries)
        yield "| package | licence |" + (" for |" if explained else "")
        yield "|---|---|" + ("---|" if explained else "")
        for name, why in dict(entries).items():
            yield f"| {name} | {licence(name)} |" + (f" {why} |" if explained else "")


def main():
    missing = sorted({name for _, _, entries in PARTS for name, _ in entries if not name.startswith("nvidia-")} - set(LICENCES))
    if missing:
        print("no licence is known of: " + ", ".join(missing))
        return 1
    made, file = "\n".join(text()) + "\n", ROOT / "NOTICES.md"
    if "--check" not in sys.argv:
        file.write_text(made)
    elif not file.exists() or file.read_text() != made:
        print("NOTICES.md is not what the lists say: python3 docs/make_notices.py makes it")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
