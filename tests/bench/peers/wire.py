"""How a bench's peer talks: commands as lines on standard input, answers as JSON lines on descriptor 3; and safetensors files."""
import ctypes
import json
import os
import sys

import torch

ANSWERS = 3


def serve(commands):
    """Answers each line `name words...` by what `commands[name](*words)` returns, until the input ends."""
    with os.fdopen(ANSWERS, "w", buffering=1) as answers:
        answers.write(json.dumps({"ready": True}) + "\n")
        for line in sys.stdin:
            name, *words = line.split()
            answers.write(json.dumps(commands[name](*words)) + "\n")


def read_safetensors(path):
    """{name: float32 tensor} of a file that Isobar wrote."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = bytearray(file.read())
    header.pop("__metadata__", None)
    out = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        assert entry["dtype"] == "F32", (name, entry["dtype"])
        values = torch.frombuffer(data, dtype=torch.float32, count=(end - begin) // 4, offset=begin)
        out[name] = values.reshape(entry["shape"]).clone()
    return out


def write_safetensors(path, tensors):
    """Writes {name: tensor} as float32, for Isobar to read."""
    header, parts, end = {}, [], 0
    for name, tensor in tensors.items():
        data = tensor.detach().to("cpu", torch.float32).contiguous()
        parts.append(ctypes.string_at(data.data_ptr(), data.nbytes))  # without numpy, which PyTorch does not ask for
        header[name] = {"dtype": "F32", "shape": list(data.shape), "data_offsets": [end, end + len(parts[-1])]}
        end += len(parts[-1])
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(parts))


def peak_bytes():
    """Most memory that this process has held, import included, counted as core/memory.h's peak_own_bytes does."""
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    peak, own, shared, files = (int(lines[name].split()[0]) for name in ("VmHWM", "RssAnon", "RssShmem", "RssFile"))
    return 1024 * max(own + shared, peak - files)
