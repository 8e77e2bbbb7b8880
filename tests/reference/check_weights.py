"""Loads the weights of an Isobar run into the plain PyTorch model, by name and strictly, and runs one forecast.

Usage: python check_weights.py RUN_FOLDER
"""
import sys
import tomllib
from pathlib import Path

import torch
from safetensors.torch import load_file

from vit import Vit, relative_l2


def main():
    run = Path(sys.argv[1])
    config = tomllib.loads((run / "run.toml").read_text())
    height, width = config["data"]["grid"]
    sizes = {key: config["model"][key] for key in ("patch", "embed", "depth", "heads")}
    model = Vit(height=height, width=width, channels=config["data"]["channels"], **sizes)
    model.load_state_dict(load_file(run / "weights.safetensors"), strict=True)
    image = torch.randn(1, config["data"]["channels"], height, width, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        loss = relative_l2(model(image), image)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters loaded by name; loss on noise {loss:.4f}")


if __name__ == "__main__":
    main()
