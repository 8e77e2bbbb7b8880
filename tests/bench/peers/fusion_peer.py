"""The operations of `bench fusion` in PyTorch, eager and compiled. Usage: fusion_peer.py FOLDER (case.json and what Isobar's worker wrote)."""
import json
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from wire import read_safetensors, serve, write_safetensors

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference"))
from vit import relative_l2  # noqa: E402


def bias_gelu(x, bias):
    return (F.gelu(x + bias.to(x.dtype)),)


def residual_norm(x, branch, branch_bias, weight, bias):
    total = x + (branch + branch_bias.to(branch.dtype))
    return total, F.layer_norm(total, weight.shape, weight, bias, 1e-6).to(branch.dtype)


def qkv(case):
    def forward(x, *leaves):
        def one(weight, bias):
            out = F.linear(x, weight.to(x.dtype), bias.to(x.dtype))
            return out.view(case["batch"], -1, case["heads"], out.shape[1] // case["heads"]).transpose(1, 2)

        return tuple(one(weight, bias) for weight, bias in zip(leaves[:3], leaves[3:]))

    return forward


def head_loss(case, target):
    patch, channels = case["patch"], case["channels"]
    grid = (case["height"] // patch, case["width"] // patch)

    def forward(tokens):
        image = tokens.view(-1, *grid, patch, patch, channels).permute(0, 5, 1, 3, 2, 4).reshape(target.shape)
        return (relative_l2(image, target),)

    return forward


class Side:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.case = json.loads((self.folder / "case.json").read_text())
        torch.set_num_threads(self.case["threads"])
        torch.backends.cuda.matmul.allow_tf32 = self.case["tf32"]
        torch.backends.cudnn.allow_tf32 = self.case["tf32"]
        self.device = torch.device(self.case["device"])
        self.inputs = read_safetensors(self.folder / "inputs.safetensors")

    def tensor(self, name, dtype=torch.float32):
        return self.inputs[name].to(self.device, dtype, copy=True)

    def all_of(self, prefix):
        return [self.tensor(name) for name in sorted(self.inputs) if name.startswith(prefix)]

    def differentiable(self, name, dtype):
        """Forward, its leaves, and the gradients of its results."""
        def leaf(name, dtype=torch.float32):
            return self.tensor(name, dtype).requires_grad_()

        if name == "bias_gelu":
            return bias_gelu, [leaf("hidden", dtype), leaf("hidden_bias")], [self.tensor("d_hidden", dtype)]
        if name == "residual_norm":
            leaves = [leaf("x"), leaf("branch", dtype), *map(leaf, ("branch_bias", "norm_weight", "norm_bias"))]
            return residual_norm, leaves, [self.tensor("d_sum"), self.tensor("d_y", dtype)]
        if name == "qkv":
            parts = [part.clone().requires_grad_() for whole in ("qkv_weight", "qkv_bias") for part in self.tensor(whole).chunk(3)]
            return qkv(self.case), [leaf("normed", dtype), *parts], [self.tensor(d, dtype) for d in ("d_q", "d_k", "d_v")]
        return head_loss(self.case, self.tensor("target")), [leaf("tokens", dtype)], [torch.ones((), device=self.device)]

    def optimizer(self, **form):
        weights = self.all_of("weight.")
        for weight, gradient in zip(weights, self.all_of("gradient.")):
            weight.grad = gradient
        betas = (self.case["beta1"], self.case["beta2"])
        return weights, torch.optim.Adam(weights, self.case["lr"], betas, self.case["eps"], **form)

    def quicker_form(self):
        """Plain Adam is a loop over the tensors or operations over lists of them: the quicker one here."""
        steps = {form: self.optimizer(foreach=form == "foreach", fused=False)[1].step for form in ("loop", "foreach")}
        times = {form: sorted(self.time(step, 7))[3] for form, step in steps.items()}
        return min(times, key=times.get)

    def prepare(self, name, type_name, mode):
        """The operation that is meant from now on, from its start; mode: eager, compiled, or (adam) fused."""
        torch.compiler.reset()
        compiled = torch.compile if mode == "compiled" else lambda function: function
        self.name, self.adam, form = name, None, ""
        if name == "adam":
            form = {"fused": "fused", "compiled": "foreach"}.get(mode) or self.quicker_form()
            self.adam = weights, optimizer = self.optimizer(foreach=form == "foreach", fused=form == "fused")
            step = compiled(lambda: optimizer.step())
            self.run_once = lambda: (step(), weights)[1]
        elif name == "grad_norm":
            gradients = self.all_of("gradient.")
            length = compiled(torch.nn.utils.get_total_norm)

            def run_once():
                total = length(gradients)
                return [total, total.isfinite().logical_not()]

            self.run_once = run_once
        else:
            forward, leaves, given = self.differentiable(name, torch.bfloat16 if type_name == "bf16" else torch.float32)
            forward = compiled(forward)

            def run_once():
                results = forward(*leaves)
                return [*results, *torch.autograd.grad(results, leaves, given)]

            self.run_once = run_once
        begin = time.perf_counter()
        if mode == "compiled":
            self.run_once()
            self.settle()
            self.restart()
        return {"form": form, "first_s": time.perf_counter() - begin}

    def restart(self):
        """Weights and moments as they were before the call that compiled."""
        if self.adam is None:
            return
        weights, optimizer = self.adam
        with torch.no_grad():
            for weight, first in zip(weights, self.all_of("weight.")):
                weight.copy_(first)
                for value in optimizer.state[weight].values():
                    value.zero_()

    def settle(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def results(self):
        """In the order of Isobar's: its weights of q, k and v are one, and so are all parameters."""
        out = [tensor.detach() for tensor in self.run_once()]
        if self.name == "qkv":
            return [*out[:4], torch.cat(out[4:7]), torch.cat(out[7:])]
        return [torch.cat([tensor.flatten() for tensor in out])] if self.name == "adam" else out

    def write(self, file):
        for _ in range(3):
            results = self.results()
        write_safetensors(self.folder / file, {str(i): tensor for i, tensor in enumerate(results)})
        return {"count": len(results)}

    def time(self, work, count):
        """Microseconds of each of `count` calls."""
        if self.device.type == "cuda":
            marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
            marks[0].record()
            for mark in marks[1:]:
                work()
                mark.record()
            torch.cuda.synchronize()
            return [1e3 * begin.elapsed_time(end) for begin, end in zip(marks, marks[1:])]
        marks = [time.perf_counter_ns()]
        for _ in range(count):
            work()
            marks.append(time.perf_counter_ns())
        return [(end - begin) / 1e3 for begin, end in zip(marks, marks[1:])]

    def run(self, count):
        return {"us": self.time(self.run_once, int(count))}


side = Side(sys.argv[1])
serve({"prepare": side.prepare, "write": side.write, "run": side.run})
