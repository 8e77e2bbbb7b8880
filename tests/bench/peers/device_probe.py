"""What a device does with attention, one product and uploads, by PyTorch: the figures that decide which kernel is worth writing.

Usage: device_probe.py cuda|cpu FILE.jsonl. A JSON line a row as soon as it is measured: {"row", "unit", "median", "least", "most"}, or
{"row", "cannot"} where PyTorch refuses. Attention has its rate beside that, "TFLOP/s" of the 4 N^2 E operations forward and 2.5 times those
backward: its floor is the rate of the product. Attention is that of the preset base (16 samples, 8 heads, 4,050 tokens) at head sizes 48 and 64,
forward and backward, by each of PyTorch's kernels, with and without deterministic algorithms. On a processor all is small.
"""
import json
import statistics
import sys
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

KERNELS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION,
           "efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}


class Probe:
    def __init__(self, device, file):
        self.device = torch.device(device)
        self.on_cuda = self.device.type == "cuda"
        self.file = file

    def write(self, row, **figures):
        self.file.write(json.dumps({"row": row, **figures}) + "\n")
        self.file.flush()
        print(row, *(f"{name} {value}" for name, value in figures.items()), flush=True)

    def ms(self, run):
        if self.on_cuda:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            run()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end)
        begin = time.perf_counter()
        run()
        return (time.perf_counter() - begin) * 1e3

    def measure(self, row, run, unit="ms", of_ms=lambda ms: ms, operations=None):
        try:
            for _ in range(2):
                run()
            values = [of_ms(self.ms(run)) for _ in range(7 if self.on_cuda else 3)]
        except RuntimeError as error:
            return self.write(row, cannot=str(error).splitlines()[0][:200])
        figures = {"median": statistics.median(values), "least": min(values), "most": max(values)}
        if operations is not None:
            figures["TFLOP/s"] = 1e-9 * operations / figures["median"]
        self.write(row, unit=unit, **{name: round(value, 4) for name, value in figures.items()})

    def attention(self, kernel, head, strict):
        samples, heads, tokens = (16, 8, 4050) if self.on_cuda else (1, 2, 64)
        kind = torch.bfloat16 if kernel != "math" and self.on_cuda else torch.float32
        q, k, v = (torch.randn(samples, heads, tokens, head, device=self.device, dtype=kind, requires_grad=True) for _ in range(3))
        gradient = torch.randn_like(q)
        row = f"attention {kernel} head {head}{' deterministic' if strict else ''}"

        def forward():
            with sdpa_kernel(KERNELS[kernel]):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v)

        operations = 4 * samples * heads * tokens * tokens * head
        torch.use_deterministic_algorithms(strict)
        try:
            for name, run, times in (("forward", forward, 1), ("forward and backward", lambda: forward().backward(gradient), 3.5)):
                self.measure(f"{row} {name}", run, operations=times * operations)
        finally:
            torch.use_deterministic_algorithms(False)

    def product(self):
        rows, inner, outer = (64800, 384, 1536) if self.on_cuda else (256, 64, 64)
        kind = torch.bfloat16 if self.on_cuda else torch.float32
        a, b = (torch.randn(size, device=self.device, dtype=kind) for size in ((rows, inner), (inner, outer)))
        self.measure(f"product {rows} x {inner} x {outer}", lambda: a @ b, "TFLOP/s", lambda ms: 2e-9 * rows * inner * outer / ms)

    def upload(self):
        values = 16 * 20 * 360 * 720 if self.on_cuda else 1 << 20
        there = torch.empty(values, device=self.device)
        for name, here in (("pageable", torch.empty(values)), ("pinned", torch.empty(values, pin_memory=self.on_cuda))):
            self.measure(f"upload {name}", lambda from_=here: there.copy_(from_, non_blocking=True), "GB/s",
                         lambda ms: 4e-6 * values / ms)


def main():
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        probe = Probe(sys.argv[1], file)
        name = torch.cuda.get_device_name(0) if probe.on_cuda else "cpu"
        probe.write("device", name=name, torch=torch.__version__)
        probe.product()
        probe.upload()
        for head in (48, 64):
            for kernel in KERNELS if probe.on_cuda else ("math",):
                for strict in (False, True):
                    probe.attention(kernel, head, strict)


if __name__ == "__main__":
    main()
