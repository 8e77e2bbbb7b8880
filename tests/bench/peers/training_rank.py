"""One rank of a step in PyTorch, beside which a bench measures ours: weights and batches as ours has them, and the commands that it answers."""
import ctypes
import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

from wire import read_safetensors, serve

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference"))
from vit import Vit, relative_l2  # noqa: E402


class TrainingRank:
    """Of a folder with case.json, weights and batches. A peer makes `model` and `optimizer` in reset(), which begins with first_model()."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.case = case = json.loads((self.folder / "case.json").read_text())
        torch.set_num_threads(case["threads"])
        self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        batches = read_safetensors(self.folder / "batches.safetensors")
        part = slice(None) if case.get("whole_batches") else slice(self.rank, None, self.world)
        self.batches = [(batches[f"input.{i}"][part].contiguous(), batches[f"target.{i}"][part].contiguous())
                        for i in range(case["batches"])]
        del batches
        ctypes.CDLL(None).malloc_trim(0)  # what was read for the slices is no part of a step

    def first_model(self):
        """The model with the first weights; its steps begin anew. The first call joins the ranks."""
        if not dist.is_initialized():
            dist.init_process_group("gloo", init_method=f"file://{self.folder}/peers", rank=self.rank, world_size=self.world)
        sizes = ("height", "width", "channels", "patch", "embed", "depth", "heads")
        model = Vit(*(self.case[name] for name in sizes))
        model.load_state_dict(read_safetensors(self.folder / "weights.safetensors"))
        self.steps = 0
        return model

    def adam(self):
        """What Adam is made with."""
        return {"lr": self.case["lr"], "betas": (self.case["beta1"], self.case["beta2"]), "eps": self.case["eps"], "fused": True}

    def next_batch(self):
        self.steps += 1
        return self.batches[(self.steps - 1) % len(self.batches)]

    def step(self):
        x, y = self.next_batch()
        self.optimizer.zero_grad()
        loss = relative_l2(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss

    def mean_loss(self, loss):
        """Over the ranks."""
        loss = loss.detach().double()
        dist.all_reduce(loss)
        return loss.item() / self.world

    def losses(self, count):
        return {"losses": [self.mean_loss(self.step()) for _ in range(int(count))]}

    def run(self, count):
        """Microseconds of each step."""
        dist.barrier()
        out = []
        for _ in range(int(count)):
            begin = time.perf_counter_ns()
            self.step()
            out.append((time.perf_counter_ns() - begin) / 1e3)
        return {"step": out}

    def serve(self):
        serve({"reset": self.reset, "losses": self.losses, "run": self.run})
