#!/usr/bin/env python3
"""Pins the wheel lists of this folder to another libtorch: pin_wheels.py VERSION FOLDER.

Asks pip for torch VERSION and for the packages of each list, in versions that fit it, downloads them to FOLDER (4 GB) and
writes names, sizes and hashes into the lists. Packages that torch now needs and no list has are told at the end. What else
to do is in docs/setup.md. Run it with the Python of the wheels: 3.11, on x86_64.
"""
import hashlib
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LISTS = ["wheels.txt", "wheels_cuda.txt", "wheels_nvcc.txt", "peers.txt"]
COMPILER = ("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-cccl", "nvidia-cuda-crt")  # in the runtime's version, which torch names
LEFT_OUT = {"triton", "setuptools", "cuda-toolkit", "cuda-bindings", "cuda-pathfinder"}  # nothing of ours loads them


def download(folder, *packages):
    subprocess.run([sys.executable, "-m", "pip", "download", "--only-binary=:all:", "-d", str(folder), *packages], check=True)


def name_and_version(wheel):
    name, version = wheel.name.split("-")[:2]
    return re.sub(r"[-_.]+", "-", name).lower(), version


def entry(wheel):
    name, version = name_and_version(wheel)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return f"#file {wheel.name} {wheel.stat().st_size}\n{name}=={version} --hash=sha256:{digest}\n"


def rewrite(path, wheels):
    """The list with the same packages in the same order; its comment at the top stays."""
    lines = path.read_text().splitlines(keepends=True)
    packages = [line.split("==")[0] for line in lines if re.match(r"[a-z]", line)]
    comment = "".join(line for line in lines if line.startswith("# "))
    path.write_text(comment + "".join(entry(wheels[package]) for package in packages))
    return packages


def main():
    if sys.version_info[:2] != (3, 11) or len(sys.argv) != 3:
        sys.exit(__doc__)
    version, folder = sys.argv[1], Path(sys.argv[2])
    download(folder, f"torch=={version}", "h5py")
    runtime = next(v for w in folder.glob("*.whl") for n, v in [name_and_version(w)] if n == "nvidia-cuda-runtime")
    cuda = ".".join(runtime.split(".")[:2])
    download(folder, "--no-deps", *(f"{package}=={cuda}.*" for package in COMPILER))
    wheels = {name_and_version(wheel)[0]: wheel for wheel in folder.glob("*.whl")}
    known = {package for name in LISTS for package in rewrite(HERE / name, wheels)}
    print(f"pinned to torch {version} with CUDA {cuda}")
    for package in sorted(set(wheels) - known - LEFT_OUT):
        print(f"in no list, though torch asks for it: {package}")


if __name__ == "__main__":
    main()
