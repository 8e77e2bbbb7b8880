"""Writes events.reference with PyTorch's own SummaryWriter, as the ERA5 tutorial does: its tags, and a figure.

Usage: python make_tfevents.py [FOLDER]     (needs torch 2.11, tensorboard and matplotlib)
"""
import sys
import tempfile
from pathlib import Path

import matplotlib
from torch.utils.tensorboard import SummaryWriter

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

# The published base run, first points: step, validation loss, u10m RMSE.
POINTS = [(0, 1.0737, 1.0533), (2372, 0.1886, 0.2007), (4744, 0.1552, 0.1648)]


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    with tempfile.TemporaryDirectory() as log:
        writer = SummaryWriter(log_dir=log)
        for step, loss, rmse in POINTS:
            writer.add_scalar("Loss/valid", loss, step)
            writer.add_scalar("RMSE(u10m)/valid", rmse, step)
        writer.add_scalar("Loss/train", 0.25, 2372, new_style=True)
        figure = plt.figure(figsize=(0.4, 0.4))
        writer.add_figure("Visualization, t2m", figure, 2372)
        writer.close()
        (folder / "events.reference").write_bytes(next(Path(log).glob("events.out.tfevents.*")).read_bytes())


if __name__ == "__main__":
    main()
