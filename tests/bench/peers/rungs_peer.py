"""The training step of `bench rungs` in PyTorch, eager or compiled. Usage: rungs_peer.py FOLDER (case.json and what Isobar's worker wrote)."""
import contextlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from wire import read_safetensors, serve

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference"))
from vit import Vit, relative_l2  # noqa: E402

ATTENTION = {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION,
             "cudnn": SDPBackend.CUDNN_ATTENTION}
TYPES = {"bf16": torch.bfloat16}


def patches_multiplied(embed, case):
    """The patch embedding as a product over rows of patches: libtorch 2.11 computes its 16-bit convolution wrongly on CPUs with AMX (pytorch issue 169688)."""
    size = case["patch"]

    def forward(image):
        rows = image.unfold(2, size, size).unfold(3, size, size).permute(0, 2, 3, 1, 4, 5).flatten(1, 2).flatten(2)
        return torch.nn.functional.linear(rows, embed.proj.weight.flatten(1), embed.proj.bias)

    return forward


class Side:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.case = case = json.loads((self.folder / "case.json").read_text())
        torch.set_num_threads(case["threads"])
        self.device = torch.device(case["device"])
        batches = read_safetensors(self.folder / "batches.safetensors")
        self.batches = [tuple(batches[f"{kind}.{i}"].to(self.device) for kind in ("input", "target")) for i in range(case["batches"])]
        self.weights = read_safetensors(self.folder / "weights.safetensors")
        self.model = self.optimizer = None

    def settle(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def start(self, form, mode, attention):
        """eager, or a mode of torch.compile, from the first weights; the time until its first step is done."""
        self.model = self.optimizer = self.loss = None
        torch._dynamo.reset()
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(dir=self.folder)  # nothing is compiled already
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = mode in ("tf32", "bf16")
        self.settle()
        self.began = time.perf_counter()
        case = self.case
        sizes = ("height", "width", "channels", "patch", "embed", "depth", "heads")
        self.model = Vit(*(case[name] for name in sizes)).to(self.device)
        self.model.load_state_dict(self.weights)
        if self.device.type == "cpu" and mode in TYPES:
            self.model.patch_embed.forward = patches_multiplied(self.model.patch_embed, case)
        betas = (case["beta1"], case["beta2"])
        fused = {} if mode in ("none", "tf32") else {"fused": True}
        self.optimizer = torch.optim.Adam(self.model.parameters(), case["lr"], betas, case["eps"], **fused)
        self.loss = self.plain_loss
        if form != "eager":
            self.loss = torch.compile(self.plain_loss, mode=None if form == "default" else form)
        self.mode, self.attention, self.form, self.steps = mode, attention, form, 0
        loss = self.step().item()
        return {"s": time.perf_counter() - self.began, "loss": loss, "torch": torch.__version__}

    def plain_loss(self, x, y):
        return relative_l2(self.model(x).float(), y)

    def scopes(self):
        out = contextlib.ExitStack()
        if self.attention != "auto":
            out.enter_context(sdpa_kernel(ATTENTION[self.attention]))
        if self.mode in TYPES:
            out.enter_context(torch.autocast(self.device.type, TYPES[self.mode]))
        return out

    def step(self):
        x, y = self.batches[self.steps % len(self.batches)]
        self.steps += 1
        if self.form == "reduce-overhead":
            torch.compiler.cudagraph_mark_step_begin()
        self.optimizer.zero_grad()
        with self.scopes():
            loss = self.loss(x, y)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def losses(self, count):
        return {"losses": [self.step().item() for _ in range(int(count))]}

    def until(self, count):
        """Goes on to step `count`; the time since `start` began."""
        while self.steps < int(count):
            self.step()
        self.settle()
        return {"s": time.perf_counter() - self.began}

    def run(self, count):
        """Milliseconds a step, and of that what the host needed to ask for it."""
        self.settle()
        begin = time.perf_counter()
        for _ in range(int(count)):
            self.step()
        asked = time.perf_counter() - begin
        self.settle()
        return {"ms": (time.perf_counter() - begin) / int(count) * 1e3, "host_ms": asked / int(count) * 1e3}


side = Side(sys.argv[1])
serve({"start": side.start, "losses": side.losses, "until": side.until, "run": side.run})
