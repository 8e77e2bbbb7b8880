"""Writes the seeds of the readers of whole files that a person thought of, as FOLDER/npy/NAME and so on.

Those named hostile-* must be refused; the tables of tests/base/fields/test_hostile_files.cpp, tests/base/config/test_hostile_toml.cpp
and tests/reading/imported/test_log_files.cpp say with which words, and miss none. A tab's message is refused without words.

Usage: python3 tests/fuzz/make_file_seeds.py FOLDER
"""
import struct
import sys
from pathlib import Path


def npy_header(descr="'<f4'", order="False", shape="(4,)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


def npy(header, values=bytes(16), version=(1, 0), length=None):
    text = header.encode("latin-1") + b"\n"
    size = len(text) if length is None else length
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version[0] == 1 else "<I", size) + text + values


def npy_seeds():
    good = npy_header()
    seeds = {
        "floats": npy(good, struct.pack("<4f", 1, -0.0, float("inf"), 1e-42)),
        "doubles-v2": npy(npy_header("'<f8'", shape="(1, 2, 1, 1)"), struct.pack("<2d", 0.1, 1e300), (2, 0)),
        "v3-spacing": npy("{ \"shape\":(4 , ),'descr':'<f4' ,'fortran_order':False}", version=(3, 0)),
        "scalar": npy(npy_header(shape="()"), bytes(4)),
        "empty-array": npy(npy_header(shape="(0, 7)"), b""),
        "fortran-vector": npy(npy_header(order="True")),
    }
    hostile = {
        "empty": b"",
        "magic-only": b"\x93NUMPY",
        "zip": b"PK\x03\x04 a zip, as numpy.savez writes it",
        "version-0": npy(good, version=(0, 0)),
        "version-9": npy(good, version=(9, 0)),
        "version-1-1": npy(good, version=(1, 1)),
        "header-1-gb": npy(good, version=(2, 0), length=1 << 30),
        "header-64-kb": npy(good, length=65535),
        "header-cut": npy(good, b"", length=20),
        "not-closed": npy(good[:-1]),
        "quote-not-closed": npy("{'descr': '<f4"),
        "short-data": npy(good, bytes(15)),
        "trailing-bytes": npy(good, bytes(17)),
        "shape-32-gb": npy(npy_header(shape="(65536, 131072)")),
        "shape-overflow": npy(npy_header(shape="(4194305, 4194305, 211106198978564)")),
        "shape-beyond-64-bits": npy(npy_header(shape="(99999999999999999999,)")),
        "zero-hides-overflow": npy(npy_header(shape="(4611686018427387904, 0, 4611686018427387904)"), b""),
        "negative": npy(npy_header(shape="(-4,)")),
        "minus-zero": npy(npy_header(shape="(-0,)"), b""),
        "leading-zero": npy(npy_header(shape="(04,)")),
        "shape-a-number": npy(npy_header(shape="(4)")),
        "shape-a-list": npy(npy_header(shape="[4]")),
        "shape-python-2": npy(npy_header(shape="(4L,)")),
        "dims-33": npy(npy_header(shape="(" + "1, " * 33 + ")"), bytes(4)),
        "fortran": npy(npy_header(order="True", shape="(2, 2)")),
        "object": npy(npy_header("'|O'")),
        "big-endian": npy(npy_header("'>f4'")),
        "half": npy(npy_header("'<f2'"), bytes(8)),
        "record": npy(npy_header("[('a', '<f4')]")),
        "type-in-tuple": npy(npy_header("('|u1',)")),
        "key-missing": npy("{'descr': '<f4', 'shape': (4,)}"),
        "key-twice": npy("{'descr': '<f4', 'descr': '<f4', 'shape': (4,)}"),
        "key-unknown": npy("{'descr': '<f4', 'evil': 1}"),
        "code": npy(npy_header(order="__import__('os')")),
        "behind-the-header": npy(good + " 1"),
        "zero-byte": npy(good + "\0"),
    }
    return seeds | {"hostile-" + name: data for name, data in hostile.items()} | {"header-alone": good.encode()}


def entry(name="a", dtype='"F32"', shape="[2]", offsets="[0,8]"):
    return f'"{name}":{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}}}'


def tensors(json, data=8, length=None):
    text = json if isinstance(json, bytes) else json.encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + b"d" * data


def of(*entries):
    return "{" + ",".join(entries) + "}"


def safetensors_seeds():
    good = of(entry())
    second = entry("b", shape="[1]", offsets="[8,12]")
    seeds = {
        "one": tensors(good),
        "usual": tensors(of('"__metadata__":{"format":"pt"}', second, entry(), entry("e", shape="[0,7]", offsets="[8,8]"),
                            entry("s", '"F64"', "[]", "[12,20]")) + "  ", 20),
        "no-tensors": tensors("{}", 0),
        "header-alone": (good + "  ").encode(),
        "types": tensors(of(*(entry(t, f'"{t}"', "[8]", f"[{8 * i},{8 * i + 8}]") for i, t in enumerate(["U8", "I8", "BOOL"]))), 24),
    }
    hostile = {
        "empty": b"",
        "seven-bytes": b"1234567",
        "pickle-in-zip": b"PK\x03\x04 a zip of pickles, as torch.save writes it",
        "length-0": tensors("", 8),
        "length-2-63": tensors(good, length=1 << 63),
        "length-all-ones": tensors(good, length=(1 << 64) - 1),
        "length-past-the-end": tensors(good, 0, len(good) + 1),
        "header-cut": tensors(good, length=len(good) - 3),
        "list": tensors("[1]"),
        "byte-order-mark": tensors(b"\xef\xbb\xbf" + good.encode()),
        "zero-byte-behind": tensors(good + "\0" + good),
        "text-behind": tensors(good + good),
        "comment": tensors("{/* */" + good[1:]),
        "no-utf8": tensors(good.encode().replace(b'"a"', b'"\xff"')),
        "gap": tensors(of(entry(), entry("b", offsets="[9,17]")), 17),
        "hole-at-the-start": tensors(of(entry(offsets="[1,9]")), 9),
        "overlap": tensors(of(entry(), entry("b", offsets="[4,12]")), 12),
        "trailing-bytes": tensors(good, 9),
        "short-data": tensors(good, 7),
        "shape-wraps": tensors(of(entry(shape="[4194305,4194305,211106198978564]", offsets="[0,16]")), 16),
        "zero-hides-overflow": tensors(of(entry(shape="[4611686018427387904,0,8]", offsets="[0,0]")), 0),
        "offsets-back": tensors(of(entry(offsets="[8,0]"))),
        "type-lie": tensors(of(entry(dtype='"F64"'))),
        "type-unknown": tensors(of(entry(dtype='"F99"'))),
        "type-a-number": tensors(of(entry(dtype="4"))),
        "negative": tensors(of(entry(shape="[-2]"))),
        "fraction": tensors(of(entry(shape="[2.0]"))),
        "exponent": tensors(of(entry(shape="[2e0]"))),
        "beyond-63-bits": tensors(of(entry(offsets="[0,18446744073709551615]"))),
        "beyond-64-bits": tensors(of(entry(shape="[18446744073709551618]"))),
        "name-twice": tensors(of(entry(), entry(offsets="[8,16]")), 16),
        "name-twice-escaped": tensors(of(entry(), entry("\\u0061", offsets="[8,16]")), 16),
        "field-twice": tensors(good.replace('"shape"', '"dtype":"F32","shape"')),
        "field-unknown": tensors(good.replace('"shape"', '"code":"x","shape"')),
        "field-missing": tensors('{"a":{"dtype":"F32","shape":[2]}}'),
        "offsets-three": tensors(of(entry(offsets="[0,4,8]"))),
        "dims-17": tensors(of(entry(shape="[2" + ",1" * 16 + "]"))),
        "deep-object": tensors('{"a":{"dtype":{"b":{"c":{}}}}}'),
        "deep-list": tensors('{"a":{"shape":' + "[" * 500),
        "entry-null": tensors('{"a":null}'),
        "name-zero-byte": tensors(of(entry("a\\u0000b"))),
        "name-up-and-out": tensors(of(entry("..\\/..\\/etc"))),
        "name-backslash": tensors(of(entry("a\\\\b"))),
        "name-escape-code": tensors(of(entry("\\u001b[2J"))),
        "name-empty": tensors(of(entry(""))),
        "name-513": tensors(of(entry("n" * 513))),
        "metadata-a-number": tensors(of('"__metadata__":{"a":1}', entry())),
        "metadata-nested": tensors(of('"__metadata__":{"a":{"b":"c"}}', entry())),
        "metadata-twice": tensors(of('"__metadata__":{"a":"b","a":"c"}', entry())),
    }
    return seeds | {"hostile-" + name: data for name, data in hostile.items()}


def toml_seeds():
    dots = ".".join("a" * 40)
    seeds = {
        "usual": b'[data]\ngrid = [72, 144]\nshuffle = true\n\n[optim]\nlr = 5e-4  # "peak"\n[train]\ninit = \'a\\b\'\n',
        "bom-crlf": b"\xef\xbb\xbf[train]\r\nsteps = 5\r\n",
        "lesson": b'title = "One"\nintroduces = ["optim.lr"]\nneeds = "cuda"\ndiff_budget = 30\n[published]\nyears = [2023]\n'
                  b'samples_per_s = ["9.30"]\nstacks = ["a"]\n[presets]\ncpu = "cpu_tiny"\n[overrides]\noptim.lr = 1e-3\n',
        "sets": b"optim.lr=1e-3\ntrain.steps=40\ndata.root=/some/where\ndata.grid=[8, 16]\nrun.device='cpu'\ndata.shuffle=false\n",
        "strings": b'a = """x\n"y" \\\n  z"""\nb = \'\'\'[[[\'\'\'\nc = "\\u00e4\\U0001F600\\t"\nd = 0x1F\ne = 1_000\n',
        "dots-in-values": b"[train]\ninit = \"" + b"../" * 40 + b"\"  # " + b"." * 40 + b"\nsave_init = 'a.b'\n",
    }
    hostile = {
        "unknown-key": b"[optim]\n\nlrr = 1e-3\n",
        "unknown-table": b"[optimm]\nlr = 1e-3\n",
        "type-text": b'[train]\nsteps = "four"\n',
        "type-float": b"train.steps = 1e3\n",
        "type-date": b"optim.lr = 2020-01-01\n",
        "type-table": b"optim.lr = {a = 1}\n",
        "type-tables": b"[[train]]\nsteps = 5\n",
        "range": b"[train]\nsteps = 0\n",
        "range-huge": b"train.steps = 9223372036854775807\n",
        "inf": b"optim.lr = inf\n",
        "minus-nan": b"optim.lr = -nan\n",
        "decimal-comma": b"optim.lr = 0,5\n",
        "beyond-64-bits": b"train.steps = 9223372036854775808\n",
        "key-twice": b"train.steps = 1\ntrain.steps = 2\n",
        "key-twice-quoted": b'[train]\nsteps = 1\n"steps" = 2\n',
        "table-twice": b"[train]\nsteps = 1\n[train]\nseed = 2\n",
        "zero-byte": b"a = 1\nb = \0",
        "no-utf8": b'[train]\ninit = "\xff\xfe"\n',
        "surrogate": b'[train]\ninit = "\xed\xa0\x80"\n',
        "utf-16": "[train]\n".encode("utf-16"),
        "return-alone": b"[train]\rsteps = 5\r",
        "control-in-comment": b"# \x1b[2J\n[train]\n",
        "no-value": b"[train]\nsteps = \n",
        "string-open": b'[train]\ninit = "abc\n',
        "string-open-long": b'[train]\ninit = """abc\n',
        "brackets": b"x = " + b"[" * 33,
        "braces": b"x = " + b"{a=" * 33,
        "headers": b"[" * 33,
        "header-without-a-name": b"[train]\nsteps = 5\n[ \n",
        "key-of-other-letters": "\u00e9]\n".encode(),
        "value-of-other-letters": "a = \u4e2d\n".encode(),
        "header-of-other-letters": "[\u00e9]\n".encode(),
        "quote-in-a-number": 'train.steps = 4"""""\u00e9'.encode(),
        "dots": dots.encode() + b" = 1",
        "dots-in-header": b"[" + dots.encode() + b"]",
        "dots-in-both": b"[" + dots[:41].encode() + b"]\n" + dots[:41].encode() + b" = 1",
        "dots-in-braces": b"x = {" + dots[:41].encode() + b" = {" + dots[:41].encode() + b" = 1}}",
        "brackets-closed-in-comments": b"x = " + b"[ # ]\n" * 40,
        "brackets-closed-in-strings": b"x = " + b"[ ']', " * 40,
        "brackets-behind-five-quotes": b'x = [ """a""""", ' + b"[ '', " * 40,
        "brackets-behind-escape": b'x = [ "\\\\", ' + b"[" * 40 + b' ""',
        "key-long": b"n" * 600 + b" = 1\n",
        "key-long-together": b"[" + b"n" * 300 + b"]\n" + b"m" * 300 + b" = 1\n",
    }
    return seeds | {"hostile-" + name: data for name, data in hostile.items()}


def number(value):
    return bytes([value & 127 | 128]) + number(value >> 7) if value >= 128 else bytes([value])


def tab_message_seeds():
    def said(kind, *numbers, words=b""):
        return bytes([kind]) + b"".join(map(number, numbers)) + words

    seeds = {
        "hello": said(1, 1, 1440, 900, 256),
        "size": said(2, 16384, 1, 2048),
        "shown": said(3, 1),
        "drawn": said(4, 0xffffffff),
        "move": said(5, 2 * 16 * 65536, 33),
        "leave": said(6),
        "button": said(7, 4, 1, 5, 3200, 1600),
        "wheel": said(8, 2, 0, 199, 3200, 1600),
        "key": said(9, 348, 1, 7),
        "text": said(10, 4, words="h\u00f6h".encode()),
        "paste": said(11, 300, words=b"line\n" * 60),
        "blur": said(12),
        "alive": said(13),
        "again": said(14),
    }
    hostile = {
        "empty": b"",
        "kind-0": said(0),
        "kind-15": said(15),
        "kind-255": said(255),
        "hello-cut": seeds["hello"][:-1],
        "hello-and-more": seeds["hello"] + b"\0",
        "size-too-large": said(2, 16385, 1, 256),
        "number-without-end": bytes([4]) + b"\xff" * 12,
        "number-longer-than-it-need-be": bytes([3, 0x81, 0]),
        "place-too-far": said(5, 2 * 16 * 65536 + 1, 0),
        "button-5": said(7, 5, 1, 0, 0, 0),
        "key-349": said(9, 349, 1, 0),
        "words-too-short": said(10, 5, words=b"four"),
        "words-of-all-memory": said(11, (1 << 63) - 1, words=b"x"),
        "no-utf8": said(10, 1, words=b"\xff"),
        "surrogate": said(10, 3, words=b"\xed\xa0\x80"),
        "zero-byte": said(11, 3, words=b"a\0b"),
    }
    return seeds | {"hostile-" + name: data for name, data in hostile.items()}


def dated(words, at="10:01:14,000"):
    return f"2026-01-05 {at} - root - INFO - {words}\n"


def epoch_log_seeds():
    start, first = dated("Starting Training Loop...", "10:00:10,000"), "Time taken for epoch 1 is 64.0 sec, avg 8.0 samples/sec"
    whole = dated("Configuration name: short", "10:00:00,000") + dated("global_batch_size 16", "10:00:00,000") + start + dated(first)
    whole += dated("  Avg train loss=0.6") + dated("  Avg val loss=0.4") + dated("  Total validation time: 7.5 sec")
    second = dated(first.replace("epoch 1", "epoch 2"))
    odd = ["epoch 0", "epoch -1", "epoch nan", "epoch 1e300", "epoch 99999999999999999999"]
    rates = ["-8.0", "0", "nan", "inf", "1e308"]
    return {name: text.encode("latin-1") for name, text in {
        "whole": whole,
        "two": whole + second,
        "begun-again": whole + second + start + dated(first),
        "begun-again-unsaid": dated(first) + second + dated(first),
        "model-parallel": start + dated("Memory usage after forward pass: 32.5 GB.") + dated(first) + dated("Avg val loss=0.25"),
        "out-of-memory": whole + "torch.cuda.OutOfMemoryError: CUDA out of memory.\n",
        "half-a-line": whole[:-30],
        "odd-epochs": start + "".join(dated(first.replace("epoch 1", one)) for one in odd),
        "odd-rates": start + "".join(dated(first.replace("8.0", one)) for one in rates),
        "odd-dates": "".join(dated(first).replace("2026-01-05", day) for day in ["2026-13-05", "0000-01-01", "9999-12-31", "2026-02-30"]),
        "odd-separators": start + "".join(dated(first).replace(*both, 1) for both in [("6-0", "6\x1b0"), ("01:14", "01\x0714"), ("1-05", "1+05")]),
        "clock-back": start + dated(first, "09:00:00,000") + dated("Avg val loss=0.4", "08:00:00,000"),
        "results-first": dated("Avg train loss=0.6") + dated("Avg val loss=0.4") + start,
        "many-settings": "".join(dated(f"key{i} {i}") for i in range(600)),
        "steering": dated("lr\x1b[2J 5e-4\x07") + dated("\xff\xfe \x00") + start + dated(first),
        "no-text": "\x00\xff\xfe\n\r\n",
    }.items()}


def metrics_csv_seeds():
    head, row = "epoch,step,train_loss,val_loss\n", "0,7,0.5,\n"
    seeds = {
        "usual": head + row + "0,7,,0.4\n",
        "crlf": (head + row).replace("\n", "\r\n"),
        "quoted": 'step,"val, ""u10m"""\n3,0.5\n',
        "not-numbers": head + "0,7,nan,-inf\n0,8,word,1e400\n",
        "pandas": head + "0.0,31.0,0.5,\n",
        "half-a-line": head + row + "0,8,0.",
        "step-alone": "step\n1\n2\n",
        "steps-back": head + "0,9,1,\n0,2,1,\n",
        "blank-lines": "\n\n" + head + "\n" + row + "\n",
        "epoch-odd": head + "-1,7,0.5,\nx,8,0.5,\n1e300,9,0.5,\n",
        "wide": "step," + ",".join(f"c{i}" for i in range(512)) + "\n1" + "," * 512 + "\n",
        "steering": "step,loss\x1b[2J\n1,2\n",
    }
    hostile = {
        "empty": "",
        "only-newlines": "\n\r\n\n",
        "no-step": "epoch,loss\n0,1\n",
        "binary": "\x00\xff\xfe\x01\n\x00\n",
        "event-file": "\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7fK\x22\tbrain.Event:2",
        "html": "<!DOCTYPE html>\n<html></html>\n",
        "cells-more": head + "0,7,0.5,,\n",
        "cells-fewer": head + "0,7\n" + row,
        "joined": head + row[:-1] + row,
        "step-twice": "step,step,loss\n1,2,3\n",
        "epoch-twice": "epoch,step,epoch\n1,2,3\n",
        "step-empty": head + "0,,0.5,\n",
        "step-word": head + "0,seven,0.5,\n",
        "step-negative": head + "0,-1,0.5,\n",
        "step-fraction": head + "0,7.5,0.5,\n",
        "step-large": head + "0,9e15,0.5,\n",
        "step-nan": head + "0,nan,0.5,\n",
        "step-steers": head + "0,\x1b[2J,0.5,\n",
        "quote-open": head + '0,7,"0.5,\n',
        "quote-open-in-head": 'step,"loss\n1,2\n',
        "columns-513": "step," + ",".join(f"c{i}" for i in range(513)) + "\n",
        "commas": "step" + "," * 9999 + "\n",
    }
    return {name: text.encode("latin-1") for name, text in (seeds | {f"hostile-{n}": t for n, t in hostile.items()}).items()}


def nccl_tests_seeds():
    three = ((1024, 12.5), (1 << 24, 90.0), (1 << 30, 4000.0))

    def test(op="all_reduce", gpus=8, rows=three, end=True, head="root"):
        text = f"# Collective test starting: {op}_perf\n" if op else ""
        text += "# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824\n# Using devices\n"
        text += "".join(f"#  Rank {i} Group  0 Pid 4{i} on a device {i} [0x1b] NVIDIA H100\n" for i in range(gpus))
        text += f"# size count type redop {head} time algbw busbw #wrong time algbw busbw #wrong\n"
        factor = 2 * (gpus - 1) / gpus if gpus else 1.75
        for size, us in rows:
            half = f" {us} {size / us / 1000:.2f} {size / us / 1000 * factor:.2f} 0"
            text += f"{size} {size // 4} float sum {-1 if head else ''}{half}{half}\n"
        return text + ("# Avg bus bandwidth    : 131.4\n" if end else "")
    one = test()
    markdown = "The average bandwidth of all_reduce over 32 ranks (5 warmups):\n| payload | busbw | algbw |\n"
    markdown += "|  1GiB | 310.00GBps | 160.00GBps |\n"
    seeds = {
        "usual": one, "twice": one + one, "old": test(op="", head=""), "no-devices": test(gpus=0),
        "cut-late": test(end=False), "markdown": markdown, "crlf": one.replace("\n", "\r\n"),
        "mpirun": "".join("[1,0]<stdout>:" + line + "\n" for line in one.splitlines()),
        "srun": "".join(f"0: {line}\n" for line in one.splitlines()),
        "run-into": one.replace(" 90.0", " a:1:1 [0] NCCL INFO"), "wrong": one.replace(" 0 12.5", " 3 12.5", 1),
        "odd-numbers": test(rows=((1, 1e-300), (1 << 62, 1e300), (7, 1.0))).replace(" 7 ", " nan "),
        "mentioned": "mpirun -np 8 /opt/all_reduce_perf -b 8\n" + test(op=""), "steers": test(op="\x1b[2J"),
        "redop-behind": one.replace(" redop root", "").replace("#wrong\n", "#wrong redop root\n").replace(" sum -1", ""),
    }
    hostile = {
        "empty": "", "binary": "\x00\xff busbw (elements)\n", "head-alone": test(rows=()),
        "cut-early": test(end=False, rows=((8, 12.5),)), "broadcast": test(op="broadcast"),
        "groups": one.replace("Group  0 Pid 47", "Group  3 Pid 47"), "ranks-0": one.replace("Rank 7", "Rank 0"),
        "two-gpus": one.replace("H100", "A100", 1), "cputime": one.replace(" time", " cputime", 1),
        "no-time": one.replace(" time", " t"), "disagree": one.replace(".", "9."),
        "all-wrong": test(rows=((8, 12.5),)).replace(" 0 12.5", " 1 12.5"),
    }
    return {name: text.encode("latin-1") for name, text in (seeds | {f"hostile-{n}": t for n, t in hostile.items()}).items()}


def main():
    seeds_of = {"npy": npy_seeds(), "safetensors": safetensors_seeds(), "toml": toml_seeds(), "tab_message": tab_message_seeds(),
                "epoch_log": epoch_log_seeds(), "metrics_csv": metrics_csv_seeds(), "nccl_tests": nccl_tests_seeds()}
    for folder, seeds in seeds_of.items():
        place = Path(sys.argv[1]) / folder
        place.mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            (place / name).write_bytes(data)


if __name__ == "__main__":
    main()
