"""Makes compression.safetensors: what steps of PowerSGD and of alternate compression give, worked out in double precision.

Usage: python make_compression.py [FOLDER]    (needs numpy and safetensors)
       python make_compression.py --witness   (needs torch 2.11, too: runs its PowerSGD hook beside the steps here)

The gradients are made up. A gradient is a matrix [first dimension that is not 1, rest], and compressed where (n + m) r 2 < n m with
r = min(n, m, 2); the mean over ranks of the others is exact. orth() makes columns orthonormal by Gram-Schmidt: column k keeps the
sign of what is left of it, so R of the QR decomposition has a positive diagonal. P Q^T does not depend on that sign.

  PowerSGD (Vogels et al. 2019): A = M + E; P = orth(sum of A Q over ranks); Q = mean of A^T P; gradient P Q^T; E = A - P Q^T.
  Alternate (Zhang et al. 2023): in even steps Q = orth(Q), own P = A Q, E = A - own P Q^T, P = mean of own P; in odd steps
  P = orth(P), own Q = A^T P, E = A - P own Q^T, Q = mean of own Q. In both kinds the gradient is P Q^T.

PyTorch's hook does four things in another way, and none changes what is compared:
  - It makes Q orthonormal before A Q. orth(sum of A Q) spans the same columns for every Q with the columns of Q, the gradient
    is P P^T (mean of A), and P P^T depends on that span alone.
  - For rank 3 and above it takes QR, whose signs are free.
  - It keeps an error of uncompressed gradients as well: own minus mean. Its mean over ranks is 0, so it leaves their means as they are.
  - It views a gradient [1, N, E] as one row, which it does not compress. The witness hands it [N, E].
"""
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

RANKS, STEPS, RANK, LEAST_RATIO = 3, 4, 2, 2
SHAPES = {"patch.weight": (9, 4, 2), "pos_embed": (1, 8, 9), "small.weight": (3, 4), "bias": (5,)}
HOOK_START = 2  # the least that the hook accepts with error feedback


def matrix_of(shape):
    shape = shape[next((at for at, size in enumerate(shape) if size != 1), 0):]
    return shape[0], int(np.prod(shape[1:]))


def pays(shape):
    n, m = matrix_of(shape)
    return (n + m) * min(n, m, RANK) * LEAST_RATIO < n * m


def inputs():
    """Gradients {name: [steps, ranks, shape]}, alike on the ranks in part, and first factors {name: [m, r]}; float32."""
    draw = np.random.default_rng(11)
    gradients, first = {}, {}
    for name, shape in SHAPES.items():
        common, own = draw.standard_normal((STEPS, 1, *shape)), draw.standard_normal((STEPS, RANKS, *shape))
        gradients[name] = (common + 0.5 * own).astype(np.float32)
        if pays(shape):
            first[name] = draw.standard_normal((matrix_of(shape)[1], min(*matrix_of(shape), RANK))).astype(np.float32)
    return gradients, first


def orth(matrix):
    out = matrix.copy()
    for k in range(out.shape[1]):
        for before in range(k):
            out[:, k] -= (out[:, before] @ out[:, k]) * out[:, before]
        out[:, k] /= np.linalg.norm(out[:, k])
    return out


def powersgd(step, a, p, q):
    """`a`: [ranks, n, m], own gradients with own errors. The gradient of all, errors and factors."""
    p = orth(sum(own @ q for own in a))
    q = np.mean([own.T @ p for own in a], axis=0)
    return p @ q.T, a - p @ q.T, p, q


def acpsgd(step, a, p, q):
    if step % 2 == 0:
        q = orth(q)
        own_p = a @ q
        p = own_p.mean(axis=0)
        return p @ q.T, a - own_p @ q.T, p, q
    p = orth(p)
    own_q = a.transpose(0, 2, 1) @ p
    q = own_q.mean(axis=0)
    return p @ q.T, a - p @ own_q.transpose(0, 2, 1), p, q


def steps_of(method, gradients, q):
    """Gradient [steps, n, m] and errors [steps, ranks, n, m] of one matrix."""
    gradients, q = gradients.astype(np.float64).reshape(STEPS, RANKS, -1, len(q)), q.astype(np.float64)
    means, errors, p, error = [], [], None, 0
    for step in range(STEPS):
        mean, error, p, q = method(step, gradients[step] + error, p, q)
        means.append(mean)
        errors.append(error)
    return np.stack(means), np.stack(errors)


def all_steps(gradients, first):
    out = {}
    for name, shape in SHAPES.items():
        for method in (powersgd, acpsgd):
            if name in first:
                mean, error = steps_of(method, gradients[name], first[name])
                out[f"{method.__name__}.error.{name}"] = error.reshape(STEPS, RANKS, *shape)
            else:
                mean = gradients[name].astype(np.float64).mean(axis=1)
            out[f"{method.__name__}.mean.{name}"] = mean.reshape(STEPS, *shape)
    return out


def hook_rank(rank, folder):
    """Steps of DistributedDataParallel with the hook, on the gradients of `inputs`: the loss is their product with the parameters."""
    import torch
    import torch.distributed as dist
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as hooks

    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=RANKS)
    gradients, first = inputs()
    sizes = {name: shape[1:] if shape[0] == 1 else shape for name, shape in SHAPES.items()}
    leaves = torch.nn.ParameterList(torch.zeros(size, dtype=torch.float64) for size in sizes.values())
    names_of = {id(leaf): name for leaf, name in zip(leaves, SHAPES)}
    module = torch.nn.Module()
    module.leaves = leaves
    module.forward = lambda step: sum((leaf * torch.from_numpy(gradients[name][step, rank]).view_as(leaf)).sum()
                                      for leaf, name in zip(leaves, SHAPES))
    ddp = torch.nn.parallel.DistributedDataParallel(module)
    state = hooks.PowerSGDState(None, RANK, HOOK_START, LEAST_RATIO)
    in_bucket = {}

    def hook(state, bucket):
        index = bucket.index()
        in_bucket[index] = names = [names_of[id(parameter)] for parameter in bucket.parameters()]
        if state.iter == HOOK_START:  # our first factors instead of its own
            q = [torch.from_numpy(first[name]).double() for name in names if name in first]
            state.q_memory_dict[index] = torch.cat([factor.flatten() for factor in q])
            rows = sum(matrix_of(SHAPES[name])[0] for name in names if name in first)
            state.p_memory_dict[index] = torch.empty(rows * RANK, dtype=torch.float64)
        return hooks.powerSGD_hook(state, bucket)

    ddp.register_comm_hook(state, hook)
    out = {}
    for step in [0] * HOOK_START + list(range(STEPS)):
        ddp.zero_grad()
        ddp(step).backward()
        if state.iter <= HOOK_START:
            continue
        for leaf, name in zip(leaves, SHAPES):
            out.setdefault("mean." + name, []).append(leaf.grad.numpy().copy())
        for index, names in in_bucket.items():
            parts = torch.split(state.error_dict[index], [int(np.prod(SHAPES[name])) for name in names])
            for name, part in zip(names, parts):
                out.setdefault("error." + name, []).append(part.numpy().copy())
    np.savez(f"{folder}/{rank}.npz", **{name: np.stack(values) for name, values in out.items()})
    dist.destroy_process_group()


def witness():
    import torch

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    expected, first = all_steps(*inputs()), inputs()[1]
    largest = {"mean": 0.0, "error": 0.0}
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(hook_rank, (folder,), RANKS)
        for rank in range(RANKS):
            found = np.load(f"{folder}/{rank}.npz")
            for name in SHAPES:
                mean = expected["powersgd.mean." + name]
                largest["mean"] = max(largest["mean"], np.abs(found["mean." + name].reshape(mean.shape) - mean).max())
                if name in first:
                    error = expected["powersgd.error." + name][:, rank]
                    largest["error"] = max(largest["error"], np.abs(found["error." + name].reshape(error.shape) - error).max())
    print(f"PyTorch {torch.__version__}, {RANKS} processes over Gloo, {STEPS} steps in float64: largest difference "
          f"of the gradients {largest['mean']:.2g}, of the errors {largest['error']:.2g}")
    return max(largest.values()) > 1e-12


def main():
    if "--witness" in sys.argv[1:]:
        sys.exit(int(witness()))
    from safetensors.numpy import save_file

    gradients, first = inputs()
    out = {f"gradients.{name}": value for name, value in gradients.items()} | {f"first.{name}": value for name, value in first.items()}
    out |= {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in all_steps(gradients, first).items()}
    path = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent) / "compression.safetensors"
    save_file(out, path, metadata={"made_by": "make_compression.py"})
    print(path.name, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
