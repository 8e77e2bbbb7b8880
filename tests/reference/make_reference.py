"""Makes the golden tensors of tests/training/train from PyTorch: small.safetensors, cpu_micro.safetensors, metrics.safetensors.

Usage: python make_reference.py [FOLDER]     (needs torch 2.11, numpy and safetensors; see README.md)
Everything is computed on one thread in float32, and the losses again in float64 to show how far rounding alone reaches.
"""
import math
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from vit import Vit, relative_l2, weighted_acc, weighted_rmse

STEPS, PEAK_LR = 10, 1e-3
MASK = (1 << 64) - 1
GOLDEN_RATIO = 0x9E3779B97F4A7C15


def learning_rate(step):
    return PEAK_LR * 0.5 * (1 + math.cos(math.pi * step / STEPS))


def gradients_of(model, batch):
    model.zero_grad()
    prediction = model(batch[0])
    loss = relative_l2(prediction, batch[1])
    loss.backward()
    return prediction.detach(), loss.detach(), {name: p.grad.clone() for name, p in model.named_parameters()}


def ten_steps(model, batches):
    adam = torch.optim.Adam(model.parameters(), lr=PEAK_LR, betas=(0.9, 0.95), eps=1e-8, foreach=False)
    losses = []
    for step in range(STEPS):
        for group in adam.param_groups:
            group["lr"] = learning_rate(step)
        adam.zero_grad()
        loss = relative_l2(model(batches[step % len(batches)][0]), batches[step % len(batches)][1])
        loss.backward()
        adam.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def in_double(shape, weights, batches):
    model = Vit(**shape).double()
    model.load_state_dict({name: value.double() for name, value in weights.items()})
    return ten_steps(model, [(a.double(), b.double()) for a, b in batches])


def small(folder):
    """A small model with random weights, nothing left at a trivial value; everything is stored."""
    shape = dict(height=16, width=24, channels=3, patch=4, embed=24, depth=2, heads=2)
    generator = torch.Generator().manual_seed(20231101)
    model = Vit(**shape)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(1 + 0.2 * noise if "norm" in name and "weight" in name else 0.15 * noise)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    batches = [tuple(torch.randn(3, 3, 16, 24, generator=generator) for _ in range(2)) for _ in range(3)]
    prediction, loss, gradients = gradients_of(model, batches[0])
    losses = ten_steps(model, batches)
    losses64 = in_double(shape, weights, batches)
    print("small: largest difference of the losses in float32 and float64", float((losses - losses64).abs().max()))
    out = {"prediction.0": prediction, "loss.0": loss.view(1), "losses": losses, "losses64": losses64}
    out["lrs"] = torch.tensor([learning_rate(step) for step in range(STEPS)], dtype=torch.float64)
    for name, value in model.state_dict().items():
        out |= {f"weights.{name}": weights[name], f"grad.{name}": gradients[name], f"after10.{name}": value.clone()}
    for i, (image, target) in enumerate(batches):
        out |= {f"input.{i}": image, f"target.{i}": target}
    save(out, folder / "small.safetensors")


def mixed_bits(x):
    x = (x + GOLDEN_RATIO) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def formula(index, shape, scale, offset=0.0):
    """Element i of tensor `index`: offset + scale * (k / 2^23 - 1), k the upper 24 bits of a hash of (index, i)."""
    key, count = mixed_bits(index), math.prod(shape)
    bits = [mixed_bits((key + i * GOLDEN_RATIO) & MASK) >> 40 for i in range(count)]
    uniform = np.array(bits, dtype=np.float32) * np.float32(2.0**-23) - np.float32(1)
    return torch.from_numpy(np.float32(offset) + np.float32(scale) * uniform).view(shape)


def cpu_micro(folder):
    """The preset's real structure; weights and data come from a formula, samples of the results are stored."""
    shape = dict(height=48, width=96, channels=20, patch=8, embed=96, depth=4, heads=2)
    model = Vit(**shape)
    with torch.no_grad():
        for index, (name, parameter) in enumerate(model.named_parameters()):
            norm = "norm" in name and "weight" in name
            parameter.copy_(formula(index, parameter.shape, 2**-4, 1 if norm else 0))
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    batches = [(formula(1000, (2, 20, 48, 96), 2), formula(1001, (2, 20, 48, 96), 2))]
    prediction, loss, gradients = gradients_of(model, batches[0])
    losses = ten_steps(model, batches)
    losses64 = in_double(shape, weights, batches)
    print("cpu_micro: largest difference of the losses in float32 and float64", float((losses - losses64).abs().max()))
    out = {"prediction_sample": prediction.flatten()[::997].clone(), "loss.0": loss.view(1)}
    out |= {"losses": losses, "losses64": losses64}
    for name, gradient in gradients.items():
        flat = gradient.flatten()
        out[f"grad_norm.{name}"] = gradient.double().norm().view(1)
        out[f"grad_largest.{name}"] = gradient.abs().max().view(1)
        out[f"grad_sample.{name}"] = torch.stack([flat[k * flat.numel() // 8] for k in range(8)])
    save(out, folder / "cpu_micro.safetensors")


def metrics(folder):
    generator = torch.Generator().manual_seed(7)
    prediction, target = (torch.randn(3, 4, 9, 16, generator=generator) for _ in range(2))
    climatology = 0.3 * torch.randn(1, 4, 9, 16, generator=generator)
    prediction = 0.6 * target + 0.5 * prediction
    double = [t.double() for t in (prediction, target, climatology)]
    out = {"prediction": prediction, "target": target, "climatology": climatology}
    out["rmse"] = weighted_rmse(double[0], double[1])
    out["acc"] = weighted_acc(double[0] - double[2], double[1] - double[2])
    out["loss"] = relative_l2(double[0], double[1]).view(1)
    save(out, folder / "metrics.safetensors")


def save(tensors, path):
    tensors = {name: value.detach().contiguous().clone() for name, value in tensors.items()}
    save_file(tensors, path, metadata={"made_by": "make_reference.py", "torch": torch.__version__, "threads": "1"})
    print(path.name, path.stat().st_size, "bytes")


def main():
    torch.set_num_threads(1)
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    for make in (small, cpu_micro, metrics):
        make(folder)


if __name__ == "__main__":
    main()
