"""The first step of lesson 01 in PyTorch, for `bench start`: what a Python program does before it has trained once.

Usage: start_peer.py SHEET.json [WEIGHTS]. Says `step 1/1 ...` when the step is done; with WEIGHTS it starts from them.
"""
import json
import sys
from pathlib import Path

import h5py
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference"))
from vit import Vit, relative_l2, weighted_acc, weighted_rmse  # noqa: E402


class Split:
    """Pairs of a split, normalised, in order."""

    def __init__(self, sheet, name):
        root = Path(sheet["root"])
        self.files = [h5py.File(path, "r")["fields"] for path in sorted((root / name).glob("*.h5"))]
        self.means, self.stds = (np.load(root / "stats" / f"global_{which}.npy")[0] for which in ("means", "stds"))
        self.dt, self.records, (self.rows, self.columns) = sheet["dt"], self.files[0].shape[0], sheet["grid"]
        all_pairs = len(self.files) * self.records
        self.size = min(sheet["limit_valid"], all_pairs) if name == "valid" and sheet["limit_valid"] else all_pairs

    def field(self, file, record):
        values = self.files[file][record, :, : self.rows, : self.columns]
        return (values - self.means) / self.stds

    def batch(self, begin, count):
        pairs = []
        for i in range(begin, begin + count):
            record = i % self.records % (self.records - self.dt)
            record += self.dt if record < self.dt else 0
            pairs.append([self.field(i // self.records, r) for r in (record, record + self.dt)])
        both = torch.from_numpy(np.stack(pairs))
        return both[:, 0], both[:, 1]


def validate(model, split, sheet):
    """Loss and scores, as the lesson's first validation: RMSE, of persistence and of climatology, and ACC."""
    climatology = np.load(Path(sheet["root"]) / "stats" / "time_means.npy")[0, :, : split.rows, : split.columns]
    climatology = torch.from_numpy((climatology - split.means) / split.stds)[None]
    losses, scores = [], []
    with torch.no_grad():
        for begin in range(0, split.size - sheet["batch"] + 1, sheet["batch"]):
            x, y = split.batch(begin, sheet["batch"])
            prediction = model(x)
            losses.append(relative_l2(prediction, y).item())
            rows = [weighted_rmse(prediction, y), weighted_rmse(x, y), weighted_rmse(climatology, y)]
            rows.append(weighted_acc(prediction - climatology, y - climatology))
            scores.append(torch.stack([row.double().mean(0) for row in rows]))
    return sum(losses) / len(losses), torch.stack(scores).mean(0)


def main():
    sheet = json.loads(Path(sys.argv[1]).read_text())
    torch.set_num_threads(sheet["threads"])
    train, valid = Split(sheet, "train"), Split(sheet, "valid")
    model = Vit(*sheet["grid"], *(sheet[name] for name in ("channels", "patch", "embed", "depth", "heads")))
    if len(sys.argv) > 2:
        from wire import read_safetensors

        model.load_state_dict(read_safetensors(sys.argv[2]))
    optimizer = torch.optim.Adam(model.parameters(), sheet["lr"], (sheet["beta1"], sheet["beta2"]), sheet["eps"])
    loss, scores = validate(model, valid, sheet)
    print(f"valid loss {loss:.9g} u10m RMSE {scores[0, 0]:.9g}", flush=True)
    x, y = train.batch(0, sheet["batch"])
    optimizer.zero_grad()
    loss = relative_l2(model(x), y)
    loss.backward()
    optimizer.step()
    print(f"step 1/1 loss {loss.item():.9g}", flush=True)


main()
