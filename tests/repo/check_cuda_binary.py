"""What the CUDA plugin holds: both architectures and PTX, and kernels without local memory, within their registers and shared
memory, that move 16 bytes at once where they say so.

Usage: check_cuda_binary.py LIBRARY ARCHITECTURE... (such as 80 90). Reads the fat binaries of the library, uncompressed as the build
asks for (--compress-mode=none), by itself: nvcc comes without cuobjdump where it comes as Python packages. Prints each violation
as architecture, kernel: rule, and exits with 1 when there is any, with 2 when the file cannot be read.
"""
import re
import struct
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

# A kernel by its demangled name; registers a thread and KiB of shared memory a block at most; what it loads and stores 16 bytes at
# once. Blocks have 256 threads: 255 registers are what the hardware has, one block a multiprocessor; 128 are two blocks, 80 three,
# 64 four, 48 five, 40 six, 32 eight, and twice as many in the forward pass of residual_norm, whose blocks have 128. Shared memory, 1 KiB
# of it sm_90's own, leaves room for all of them: four blocks with 34 are 136 of the 164 that sm_80 has.
TABLE = [
    (r"adam_kernel<1>", 48, 2, False, False),
    (r"adam_kernel<4>", 48, 2, True, True),
    (r"backward_kernel<(Erf|Tanh), \w+, 1>", 40, 3, False, False),
    (r"backward_kernel<(Erf|Tanh), (float, 4|__\w+, 8)>", 80, 10, True, True),
    (r"backward_kernel<\w+, [1-4]>\(ResidualNormBackward", 128, 13, True, True),
    (r"backward_kernel<\w+, [68]>\(ResidualNormBackward", 240, 13, True, True),
    (r"backward_kernel<\w+, 1>\(HeadLossBackward", 64, 33, False, False),
    (r"backward_kernel<(float, 4|__\w+, 8)>\(HeadLossBackward", 64, 33, True, True),
    (r"column_kernel<", 48, 4, False, False),
    (r"count_nonfinite_kernel", 40, 0, True, False),
    (r"fields_kernel<\w+, \w+, 1>", 40, 0, False, False),
    (r"fields_kernel<Raw, float, 4>", 40, 0, True, True),
    (r"fields_kernel<Raw, __\w+, 4>", 40, 0, True, False),
    (r"fields_kernel<Packed\w+, float, 4>", 40, 0, False, True),
    (r"fields_kernel<Packed\w+, __\w+, 4>", 40, 0, False, False),  # 8 bytes
    (r"finish_column_sums_kernel", 32, 2, False, False),
    (r"finish_kernel", 40, 2, False, False),
    (r"forward_kernel<(Erf|Tanh), \w+, 1>", 40, 0, False, False),
    (r"forward_kernel<(Erf|Tanh), (float, 4|__\w+, 8)>", 48, 0, True, True),
    (r"forward_kernel<\w+, [1-4]>\(ResidualNormForward", 64, 0, True, True),
    (r"forward_kernel<\w+, [68]>\(ResidualNormForward", 104, 0, True, True),
    (r"forward_kernel<\w+, 1>\(HeadLossForward", 64, 34, False, False),
    (r"forward_kernel<(float, 4|__\w+, 8)>\(HeadLossForward", 64, 34, True, False),
    (r"piece_kernel<1>", 64, 2, False, False),
    (r"piece_kernel<4>", 80, 2, True, False),
    (r"residual_norm_rows::(forward|backward)_kernel<", 40, 2, False, False),
]

MAGIC = struct.pack("<I", 0xBA55ED50)
PTX, ELF, COMPRESSED = 1, 2, 0x2000 | 0x8000
SYMBOLS, NO_BITS = 2, 8  # types of sections
FRAME_SIZE, REGISTERS = 0x11, 0x2F  # attributes of .nv.info, each of a symbol
LDG, STG, WIDE = 0x981, 0x986, 6

Kernel = namedtuple("Kernel", "architecture name registers shared frame loads stores")  # shared, frame: bytes


def sections(elf):
    """Name, type, size and content of each section."""
    if elf[:4] != b"\x7fELF":
        raise ValueError("it is no ELF file")
    begin, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<3H", elf, 0x3A)
    rows = [struct.unpack_from("<2I4Q2I2Q", elf, begin + i * size) for i in range(count)]
    text = rows[names][4]
    for name, kind, _, _, offset, length, *_ in rows:
        end = elf.index(b"\0", text + name)
        yield elf[text + name:end].decode(), kind, length, b"" if kind == NO_BITS else elf[offset:offset + length]


def images(fat):
    """Kind (PTX or ELF), architecture and content of each image in the section .nv_fatbin."""
    at = fat.find(MAGIC)
    while at >= 0:
        _, header, size = struct.unpack_from("<2HQ", fat, at + 4)
        entry, end = at + header, at + header + size
        while entry < end:
            kind, _, header, size = struct.unpack_from("<2HIQ", fat, entry)
            architecture, = struct.unpack_from("<I", fat, entry + 28)
            flags, = struct.unpack_from("<Q", fat, entry + 40)
            if flags & COMPRESSED:
                raise ValueError("its device code is compressed: nvcc was not asked for --compress-mode=none")
            yield kind, architecture, fat[entry + header:entry + header + size]
            entry += header + size
        at = fat.find(MAGIC, end)


def attributes(info):
    """Attribute, symbol and value of those in .nv.info that are of a symbol."""
    at = 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<2BH", info, at)
        at += 4
        if form == 4:  # a payload of so many bytes
            if size == 8:
                yield attribute, *struct.unpack_from("<2I", info, at)
            at += size


def wide(code, opcode):
    """Instructions of 16 bytes that move 16 bytes."""
    return sum(low & 0xFFF == opcode and high >> 9 & 7 == WIDE for low, high in struct.iter_unpack("<2Q", code))


def kernels(architecture, cubin):
    found = list(sections(cubin))
    symbols = next(content for _, kind, _, content in found if kind == SYMBOLS)
    names = next(content for name, *_, content in found if name == ".strtab")
    shared = {name.removeprefix(".nv.shared."): size for name, _, size, _ in found}
    told = {}
    for attribute, symbol, value in (row for name, *_, content in found if name == ".nv.info" for row in attributes(content)):
        offset, = struct.unpack_from("<I", symbols, 24 * symbol)
        told[attribute, names[offset:names.index(b"\0", offset)].decode()] = value
    for name, *_, code in found:
        if name.startswith(".text."):
            name = name.removeprefix(".text.")
            yield Kernel(architecture, name, told[REGISTERS, name], shared.get(name, 0), told[FRAME_SIZE, name], wide(code, LDG), wide(code, STG))


def read(library):
    """Kernels of the library with demangled names, and the architectures of its PTX."""
    fat = next((content for name, *_, content in sections(library.read_bytes()) if name == ".nv_fatbin"), None)
    if fat is None:
        raise ValueError("it holds no device code")
    out, ptx = [], set()
    for kind, architecture, content in images(fat):
        if kind == PTX:
            ptx.add(architecture)
        elif kind == ELF:
            out += kernels(architecture, content)
    plain = subprocess.run(["c++filt"], input="\n".join(one.name for one in out), capture_output=True, text=True, check=True, timeout=60)
    names = re.sub(r"\(anonymous namespace\)::|isobar::", "", plain.stdout).splitlines()
    return [one._replace(name=name) for one, name in zip(out, names)], ptx


def faults(found, ptx, architectures):
    if max(architectures) not in ptx:
        yield f"no PTX of compute_{max(architectures)}, from which later devices' code is made"
    for architecture in architectures:
        here = [one for one in found if one.architecture == architecture]
        for pattern, *_ in TABLE:
            if not any(re.search(pattern, one.name) for one in here):
                yield f"sm_{architecture}: no kernel {pattern}"
        for one in here:
            rows = [row for row in TABLE if re.search(row[0], one.name)]
            if len(rows) != 1:
                yield f"sm_{architecture}, {one.name}: {len(rows)} rows of the table in check_cuda_binary.py are for it"
                continue
            _, registers, shared, loads, stores = rows[0]
            if one.frame:
                yield f"sm_{architecture}, {one.name}: {one.frame} bytes of local memory: spilled registers, or an array picked from by a variable"
            if one.registers > registers:
                yield f"sm_{architecture}, {one.name}: {one.registers} registers; at most {registers}"
            if one.shared > 1024 * shared:
                yield f"sm_{architecture}, {one.name}: {one.shared} bytes of shared memory; at most {1024 * shared}"
            if loads and not one.loads:
                yield f"sm_{architecture}, {one.name}: no load of 16 bytes"
            if stores and not one.stores:
                yield f"sm_{architecture}, {one.name}: no store of 16 bytes"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    architectures = [re.fullmatch(r"(\d+)[af]?(-real|-virtual)?", word) for word in sys.argv[2:]]
    if None in architectures:
        print(f"{sys.argv[2:]}: an architecture is a number, such as 90")
        return 2
    try:
        found, ptx = read(Path(sys.argv[1]))
    except (OSError, ValueError, LookupError, struct.error) as error:
        print(f"{sys.argv[1]} cannot be read: {error}")
        return 2
    wrong = list(faults(found, ptx, [int(match[1]) for match in architectures]))
    print("\n".join(wrong + [f"{len(found)} kernels, {len(wrong)} violations"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
