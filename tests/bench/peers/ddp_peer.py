"""One rank of the data-parallel step of `bench ddp` with DistributedDataParallel. Usage: ddp_peer.py FOLDER (case.json, weights, batches)."""
import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
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

    def reset(self, views):
        """The first weights, a new optimiser and a new DDP; `views` = views: gradients are views of its buckets."""
        if not dist.is_initialized():
            dist.init_process_group("gloo", init_method=f"file://{self.folder}/peers", rank=self.rank, world_size=self.world)
        sizes = ("height", "width", "channels", "patch", "embed", "depth", "heads")
        model = Vit(*(self.case[name] for name in sizes))
        model.load_state_dict(read_safetensors(self.folder / "weights.safetensors"))
        self.model = DistributedDataParallel(model, gradient_as_bucket_view=views == "views")
        betas = (self.case["beta1"], self.case["beta2"])
        self.optimizer = torch.optim.Adam(self.model.parameters(), self.case["lr"], betas, self.case["eps"], fused=True)
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
