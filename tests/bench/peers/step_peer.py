"""The training step of `bench step` in PyTorch, eager or compiled. Usage: step_peer.py FOLDER (case.json and what Isobar's worker wrote)."""
import json
import sys
import time
from pathlib import Path

import torch

from wire import peak_bytes, read_safetensors, serve

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference"))
from vit import Vit, relative_l2  # noqa: E402

FORMS = {"loop": {"foreach": False, "fused": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}


class Trainer:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.case = case = json.loads((self.folder / "case.json").read_text())
        torch.set_num_threads(case["threads"])
        torch.backends.cuda.matmul.allow_tf32 = case["tf32"]
        torch.backends.cudnn.allow_tf32 = case["tf32"]
        self.device = torch.device(case["device"])
        sizes = ("height", "width", "channels", "patch", "embed", "depth", "heads")
        self.model = Vit(*(case[name] for name in sizes)).to(self.device)
        self.compiled = None
        batches = read_safetensors(self.folder / "batches.safetensors")
        self.batches = [(batches[f"input.{i}"].to(self.device), batches[f"target.{i}"].to(self.device)) for i in range(case["batches"])]
        self.reset("loop")

    def reset(self, form):
        """The first weights and a new optimiser of this form; compiled: model and loss compiled, with fused Adam."""
        first_s = 0
        self.loss = self.plain_loss
        if form == "compiled":
            form = "fused"
            begin = time.perf_counter()
            if self.compiled is None:
                self.compiled = torch.compile(self.plain_loss)
                self.compiled(*self.batches[0]).backward()
                first_s = (self.clock(), time.perf_counter() - begin)[1]
            self.loss = self.compiled
        self.model.load_state_dict(read_safetensors(self.folder / "weights.safetensors"))
        betas = (self.case["beta1"], self.case["beta2"])
        self.optimizer = torch.optim.Adam(self.model.parameters(), self.case["lr"], betas, self.case["eps"], **FORMS[form])
        self.steps = 0
        return {"torch": torch.__version__, "threads": torch.get_num_threads(), "first_s": first_s}

    def plain_loss(self, x, y):
        return relative_l2(self.model(x), y)

    def clock(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter_ns()

    def step(self):
        """One step: its loss, and nanoseconds before forward, after forward, after backward, after the optimiser."""
        x, y = self.batches[self.steps % len(self.batches)]
        self.steps += 1
        times = [self.clock()]
        self.optimizer.zero_grad()
        loss = self.loss(x, y)
        times.append(self.clock())
        loss.backward()
        times.append(self.clock())
        self.optimizer.step()
        times.append(self.clock())
        return loss, times

    def peak(self):
        return {"bytes": torch.cuda.max_memory_allocated() if self.device.type == "cuda" else peak_bytes()}

    def losses(self, count):
        return {"losses": [self.step()[0].item() for _ in range(int(count))]}

    def run(self, count):
        """Microseconds of each step and of its parts."""
        out = {"step": [], "forward": [], "backward": [], "optimize": []}
        for _ in range(int(count)):
            _, times = self.step()
            out["step"].append((times[3] - times[0]) / 1e3)
            for part, begin, end in zip(("forward", "backward", "optimize"), times, times[1:]):
                out[part].append((end - begin) / 1e3)
        return out


trainer = Trainer(sys.argv[1])
serve({"reset": trainer.reset, "losses": trainer.losses, "run": trainer.run, "peak": trainer.peak})
