"""What nvcc made of our kernels, read from the plugin: registers, memory of threads, and how wide they load and store.

Usage: check_cuda_binary.py LIBRARY. The library holds its images as they are (nvcc --no-compress): ELF files of CUDA, of
which sections tell registers and stack, and the instructions, of 16 bytes each, the rest. Of the rules below the first that
fits a kernel is its own; each kernel must have one, be there for each architecture, keep to its registers, and use no memory
of its threads: neither spilled values nor arrays indexed at run time. What claims 16 bytes a load or a store must have one.
PTX must be there for devices to come. Prints each violation, and exits with 1 when there is one, with 2 when there is
nothing to check.
"""
import re
import struct
import subprocess
import sys
from pathlib import Path

ARCHITECTURES = (80, 90)

# Kernel, most registers, whether it loads and stores 16 bytes at once. Blocks have 256 threads: with 128 registers an SM holds two, with
# 64 four. What rests in registers over a row (the norms) or over a column (sums of bias_gelu) takes more.
RULES = [
    (r"adam_kernel<4>", 64, True, True),
    (r"adam_kernel<1>", 64, False, False),
    (r"backward_kernel<(Erf|Tanh), \w+, [48]>", 128, True, True),
    (r"backward_kernel<(Erf|Tanh), \w+, 1>", 64, False, False),
    (r"forward_kernel<(Erf|Tanh), \w+, [48]>", 64, True, True),
    (r"forward_kernel<(Erf|Tanh), \w+, 1>", 64, False, False),
    (r"finish_column_sums_kernel", 32, False, False),
    (r"count_nonfinite_kernel", 64, True, False),
    (r"piece_kernel<4>", 80, True, False),
    (r"piece_kernel<1>", 64, False, False),
    (r"finish_kernel", 64, False, False),
    (r"backward_kernel<\w+, [48]>\(HeadLoss", 64, True, True),
    (r"forward_kernel<\w+, [48]>\(HeadLoss", 64, True, False),  # forward writes sums
    (r"(for|back)ward_kernel<\w+, 1>\(HeadLoss", 64, False, False),
    (r"fields_kernel<Raw, float, 4>", 64, True, True),
    (r"fields_kernel<Raw, \w+, 4>", 64, True, False),  # four results of 16 bits are 8 bytes
    (r"fields_kernel<Packed\w+, float, 4>", 64, False, True),
    (r"fields_kernel<Packed\w+, \w+, 4>", 64, False, False),
    (r"fields_kernel<\w+, \w+, 1>", 64, False, False),
    (r"forward_kernel<\w+, \d>\(ResidualNorm", 128, True, True),
    (r"backward_kernel<\w+, [1-4]>\(ResidualNorm", 168, True, True),
    (r"backward_kernel<\w+, [68]>\(ResidualNorm", 240, True, True),  # embed 768 and 1024, a block an SM: 255 would spill
    (r"residual_norm_rows::\w+_kernel<\w+>", 64, False, False),
]

CUDA_MACHINE = 190
REGISTERS, FRAME = 0x2F, 0x11  # EIATTR_REGCOUNT, EIATTR_FRAME_SIZE
LOAD, STORE, LOAD_LOCAL, STORE_LOCAL = 0x181, 0x186, 0x183, 0x187  # LDG, STG, LDL, STL: nine bits, whatever form the address has
SIXTEEN_BYTES = 6  # in bits 73 to 75 of an instruction


class Image:
    """One ELF file of CUDA."""

    def __init__(self, data):
        self.data = data
        (self.machine,) = struct.unpack_from("<H", data, 18)
        offset, = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + n * size) for n in range(count)]
        strings = sections[names][4]
        self.sections = {self.text(strings + s[0]): s for s in sections}
        self.end = max([offset + size * count] + [s[4] + s[5] for s in sections if s[1] != 8])
        flags, = struct.unpack_from("<I", data, 48)
        self.architecture = next((a for a in ARCHITECTURES if a in (flags & 0xFF, flags >> 8 & 0xFF)), flags)

    def text(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode()

    def symbols(self):
        symbols, strings = self.sections[".symtab"], self.sections[".strtab"]
        for n in range(symbols[5] // 24):
            name, = struct.unpack_from("<I", self.data, symbols[4] + n * 24)
            yield n, self.text(strings[4] + name)

    def attributes(self):
        """{symbol: {attribute: value}} of the section that all kernels share."""
        out, names = {}, dict(self.symbols())
        _, _, _, _, at, size, *_ = self.sections[".nv.info"]
        end = at + size
        while at < end:
            form, attribute, length = struct.unpack_from("<BBH", self.data, at)
            at += 4
            if form != 4:
                continue
            if length == 8:
                symbol, value = struct.unpack_from("<II", self.data, at)
                out.setdefault(names.get(symbol, ""), {})[attribute] = value
            at += length
        return out

    def kernels(self):
        """(name, registers, bytes of stack, words of instructions) each."""
        attributes = self.attributes()
        for name, section in self.sections.items():
            if not name.startswith(".text."):
                continue
            symbol = name[len(".text."):]
            found = attributes.get(symbol, {})
            code = self.data[section[4]:section[4] + section[5]]
            words = [struct.unpack_from("<QQ", code, at) for at in range(0, len(code) - 15, 16)]
            yield symbol, found.get(REGISTERS, 0), found.get(FRAME, 0), words


def images(data):
    at = data.find(b"\x7fELF\x02\x01")
    while (at := data.find(b"\x7fELF\x02\x01", at + 1)) >= 0:  # the first one is the library
        if struct.unpack_from("<H", data, at + 18)[0] == CUDA_MACHINE:
            yield Image(data[at:])


def plain(symbols):
    """Names as one reads them, without our namespaces."""
    out = subprocess.run(["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True).stdout.split("\n")
    return [re.sub(r"isobar::|\(anonymous namespace\)::|^void ", "", name) for name in out]


def facts_of(library):
    """[(architecture, kernel, registers, stack, {what its instructions do})], and whether there is PTX."""
    data = Path(library).read_bytes()
    out = []
    for image in images(data):
        kernels = list(image.kernels())
        for name, (_, registers, stack, words) in zip(plain([k[0] for k in kernels]), kernels):
            codes = [(low & 0x1FF, high >> 9 & 7) for low, high in words]
            does = {"loads 16 bytes": (LOAD, SIXTEEN_BYTES) in codes, "stores 16 bytes": (STORE, SIXTEEN_BYTES) in codes,
                    "local": any(code in (LOAD_LOCAL, STORE_LOCAL) for code, _ in codes)}
            out.append((image.architecture, name, registers, stack, does))
    return out, b".target sm_" in data or b".version 9" in data


def violations(facts, has_ptx):
    if not has_ptx:
        yield "there is no PTX, which devices newer than these would be served from"
    kernels, used = {}, set()
    for architecture, name, registers, stack, does in facts:
        kernels.setdefault(name, set()).add(architecture)
        rule = next((rule for rule in RULES if re.match(rule[0], name)), None)
        where = f"sm_{architecture} {name}"
        if rule is None:
            yield f"{where}: no rule of check_cuda_binary.py is about it"
            continue
        used.add(rule)
        _, most, loads, stores = rule
        if registers > most:
            yield f"{where}: {registers} registers, at most {most}"
        if stack or does["local"]:
            yield f"{where}: {stack} bytes of a thread's own memory: values are spilled, or an array is indexed at run time"
        if loads and not does["loads 16 bytes"]:
            yield f"{where}: no load of 16 bytes"
        if stores and not does["stores 16 bytes"]:
            yield f"{where}: no store of 16 bytes"
    for name, found in kernels.items():
        for architecture in sorted(set(ARCHITECTURES) - found):
            yield f"sm_{architecture} {name}: it is not there"
    for rule in RULES:
        if rule not in used:
            yield f"a rule of check_cuda_binary.py is about no kernel: {rule[0]}"


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    facts, has_ptx = facts_of(sys.argv[1])
    if not facts:
        print(f"{sys.argv[1]}: no image of CUDA is in it as it is")
        return 2
    found = list(violations(facts, has_ptx))
    print("\n".join(found))
    print(f"{len(facts)} kernels for {len(ARCHITECTURES)} architectures, at most {max(f[2] for f in facts)} registers; {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
