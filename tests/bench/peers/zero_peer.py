"""One rank of the step of `bench zero`, whose states PyTorch shards. Usage: zero_peer.py FOLDER (case.json, weights, batches)."""
import ctypes
import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from wire import read_safetensors, serve

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference"))
from vit import Vit, relative_l2  # noqa: E402


class Rank:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.case = case = json.loads((self.folder / "case.json").read_text())
        torch.set_num_threads(case["threads"])
        self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        batches = read_safetensors(self.folder / "batches.safetensors")
        part = slice(self.rank, None, self.world)
        self.batches = [(batches[f"input.{i}"][part].contiguous(), batches[f"target.{i}"][part].contiguous())
                        for i in range(case["batches"])]
        del batches
        ctypes.CDLL(None).malloc_trim(0)  # what was read for the slices is no part of a step

    def reset(self, kind):
        """The first weights and a new optimiser. `kind`: reshard = FSDP2, which gathers a block's weights again in backward; keep = FSDP2, which keeps
        them from forward to backward; optimiser = DDP with ZeroRedundancyOptimizer, where gradients and what is broadcast are views of buckets."""
        if not dist.is_initialized():
            dist.init_process_group("gloo", init_method=f"file://{self.folder}/peers", rank=self.rank, world_size=self.world)
            self.mesh = init_device_mesh("cpu", (self.world,))
        sizes = ("height", "width", "channels", "patch", "embed", "depth", "heads")
        model = Vit(*(self.case[name] for name in sizes))
        model.load_state_dict(read_safetensors(self.folder / "weights.safetensors"))
        how = {"lr": self.case["lr"], "betas": (self.case["beta1"], self.case["beta2"]), "eps": self.case["eps"], "fused": True}
        if kind == "optimiser":
            self.model = DistributedDataParallel(model, gradient_as_bucket_view=True)
            self.optimizer = ZeroRedundancyOptimizer(self.model.parameters(), torch.optim.Adam, parameters_as_bucket_view=True, **how)
        else:
            for block in model.blocks:
                fully_shard(block, mesh=self.mesh, reshard_after_forward=kind == "reshard")
            self.model = fully_shard(model, mesh=self.mesh)  # the root keeps its own weights until backward, as by default
            self.optimizer = torch.optim.Adam(self.model.parameters(), **how)
        self.steps = 0
        return {"torch": torch.__version__}

    def step(self):
        x, y = self.batches[self.steps % len(self.batches)]
        self.steps += 1
        self.optimizer.zero_grad()
        loss = relative_l2(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss

    def losses(self, count):
        """Means over ranks."""
        out = []
        for _ in range(int(count)):
            loss = self.step().detach().double()
            dist.all_reduce(loss)
            out.append(loss.item() / self.world)
        return {"losses": out}

    def run(self, count):
        """Microseconds of each step."""
        dist.barrier()
        out = []
        for _ in range(int(count)):
            begin = time.perf_counter_ns()
            self.step()
            out.append((time.perf_counter_ns() - begin) / 1e3)
        return {"step": out}


rank = Rank(sys.argv[1])
serve({"reset": rank.reset, "losses": rank.losses, "run": rank.run})
