"""One rank of the data-parallel step of `bench ddp` and `bench compress` with DistributedDataParallel. Usage: ddp_peer.py FOLDER (case.json, weights, batches)."""
import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as hooks
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

    def reset(self, views, rank="0", start="0"):
        """The first weights, a new optimiser and a new DDP; `views` = views: gradients are views of its buckets. `rank` above 0:
        averaged by the PowerSGD hook of this rank behind the first `start` steps, in one bucket: the hook starts a bucket's second and
        third all-reduce in threads of Gloo, so that those of several buckets come in another order on each rank, and the process ends."""
        if not dist.is_initialized():
            dist.init_process_group("gloo", init_method=f"file://{self.folder}/peers", rank=self.rank, world_size=self.world)
        sizes = ("height", "width", "channels", "patch", "embed", "depth", "heads")
        model = Vit(*(self.case[name] for name in sizes))
        model.load_state_dict(read_safetensors(self.folder / "weights.safetensors"))
        if int(rank) > 0:  # the hook sees [1, N, E] as one row, and sends it whole
            model.pos_embed = torch.nn.Parameter(model.pos_embed.detach()[0])
        cap_mb = 1024 if int(rank) > 0 else None
        self.model = DistributedDataParallel(model, bucket_cap_mb=cap_mb, gradient_as_bucket_view=views == "views")
        if int(rank) > 0:
            self.compress(model, int(rank), int(start))
        betas = (self.case["beta1"], self.case["beta2"])
        self.optimizer = torch.optim.Adam(self.model.parameters(), self.case["lr"], betas, self.case["eps"], fused=True)
        self.steps = 0
        return {"torch": torch.__version__}

    def compress(self, model, rank, start):
        """By the hook, which starts from our first factors instead of its own."""
        factors = read_safetensors(self.folder / "factors.safetensors")
        names = {parameter: name for name, parameter in model.named_parameters()}
        state = hooks.PowerSGDState(None, rank, start, min_compression_rate=2)

        def hook(state, bucket):
            index = bucket.index()
            if state.iter >= start and index not in state.p_memory_dict:
                shapes = {}  # in its order: by shape
                for parameter in bucket.parameters():
                    if names[parameter] in factors:
                        shapes.setdefault((len(parameter), parameter[0].numel()), []).append(factors[names[parameter]])
                state.q_memory_dict[index] = torch.cat([q.flatten() for group in shapes.values() for q in group] or [torch.empty(0)])
                state.p_memory_dict[index] = torch.empty(sum(n * min(n, m, rank) * len(group) for (n, m), group in shapes.items()))
            return hooks.powerSGD_hook(state, bucket)

        self.model.register_comm_hook(state, hook)

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
