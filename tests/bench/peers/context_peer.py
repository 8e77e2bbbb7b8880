"""One rank of the step of `bench context` in PyTorch over Gloo: tokens shared out, attention over all of them. Usage: context_peer.py FOLDER (case.json, weights, batches)."""
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F

from training_rank import TrainingRank
from vit import relative_l2, unpatch

FORWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def shares(tokens, ranks):
    """ceil(tokens / ranks) each, and the last one what is left."""
    each = -(-tokens // ranks)
    return [each] * (ranks - 1) + [tokens - each * (ranks - 1)]


class Gather(torch.autograd.Function):
    """[..., n, d] of each rank -> [..., N, d]; its gradients are summed over the ranks and scattered."""

    @staticmethod
    def forward(ctx, x, sizes, rank):
        ctx.sizes, ctx.rank = sizes, rank
        padded = F.pad(x.movedim(-2, 0), (0, 0) * (x.dim() - 1) + (0, sizes[0] - sizes[rank])).contiguous()
        out = padded.new_empty((len(sizes) * sizes[0], *padded.shape[1:]))
        dist.all_gather_into_tensor(out, padded)
        return torch.cat([part[:size] for part, size in zip(out.split(sizes[0]), sizes)]).movedim(0, -2)

    @staticmethod
    def backward(ctx, dy):
        parts = [F.pad(part, (0, 0) * (part.dim() - 1) + (0, ctx.sizes[0] - part.shape[0])) for part in dy.movedim(-2, 0).split(ctx.sizes)]
        out = torch.empty_like(parts[0])
        dist.reduce_scatter_tensor(out, torch.cat(parts))
        return out[: ctx.sizes[ctx.rank]].movedim(0, -2), None, None


class Unite(torch.autograd.Function):
    """All tokens, of which every rank computes the same: the gradient of its own is whole already."""

    @staticmethod
    def forward(ctx, x, sizes, rank):
        ctx.sizes, ctx.rank = sizes, rank
        return Gather.forward(ctx, x, sizes, rank)

    @staticmethod
    def backward(ctx, dy):
        return dy.split(ctx.sizes, -2)[ctx.rank], None, None


class Share(torch.autograd.Function):
    """This rank's tokens; all ranks get the gradients of all of them."""

    @staticmethod
    def forward(ctx, x, sizes, rank):
        ctx.sizes, ctx.rank = sizes, rank
        return x.split(sizes, -2)[rank].contiguous()

    @staticmethod
    def backward(ctx, dy):
        return Gather.forward(ctx, dy, ctx.sizes, ctx.rank), None, None


def start_shift(tensors, sizes, rank):
    """Hands tensors to the next rank, and starts to receive those of the one before, of as many tokens as `sizes`."""
    world = dist.get_world_size()
    out = [t.new_empty((*t.shape[:-2], size, t.shape[-1])) for t, size in zip(tensors, sizes)]
    work = [dist.P2POp(dist.isend, t.contiguous(), (rank + 1) % world) for t in tensors]
    work += [dist.P2POp(dist.irecv, t, (rank - 1) % world) for t in out]
    return out, dist.batch_isend_irecv(work)


def wait(work):
    for one in work:
        one.wait()


class Ring(torch.autograd.Function):
    """Attention whose keys and values go round: out and log-sum-exp of each block of keys are merged; backward sends them round again."""

    @staticmethod
    def forward(ctx, q, k, v, sizes, rank):
        world, out, lse, own = len(sizes), None, None, (k, v)
        for i in range(world):
            pair, work = start_shift((k, v), [sizes[(rank - i - 1) % world]] * 2, rank) if i + 1 < world else ((k, v), [])
            part, part_lse = FORWARD(q, k, v)
            if out is None:
                out, lse = part, part_lse
            else:
                both = torch.logaddexp(lse, part_lse)
                out = out * (lse - both).exp().unsqueeze(-1) + part * (part_lse - both).exp().unsqueeze(-1)
                lse = both
            wait(work)
            k, v = pair
        ctx.save_for_backward(q, *own, out, lse)
        ctx.sizes, ctx.rank = sizes, rank
        return out

    @staticmethod
    def backward(ctx, dy):
        q, k, v, out, lse = ctx.saved_tensors
        sizes, rank, world = ctx.sizes, ctx.rank, len(ctx.sizes)
        dq, own, travelling = None, None, None
        for i in range(world):
            pair, work = start_shift((k, v), [sizes[(rank - i - 1) % world]] * 2, rank) if i + 1 < world else ((k, v), [])
            dq_part, dk, dv = BACKWARD(dy, q, k, v, out, lse, 0.0, False)
            dq = dq_part if dq is None else dq + dq_part
            if i == 0:
                own = (dk, dv)
            else:
                if travelling is not None:
                    came, arrives = travelling
                    wait(arrives)
                    dk, dv = dk + came[0], dv + came[1]
                travelling = start_shift((dk, dv), [sizes[(rank - i - 1) % world]] * 2, rank)
            wait(work)
            k, v = pair
        came, arrives = travelling
        wait(arrives)
        return dq, own[0] + came[0], own[1] + came[1], None, None


class Exchange(torch.autograd.Function):
    """All heads of the own tokens [B, h, n, d] -> all tokens of the own heads [B, h / c, N, d], or back."""

    @staticmethod
    def forward(ctx, x, sizes, rank, to_heads):
        ctx.sizes, ctx.rank, ctx.to_heads = sizes, rank, to_heads
        world = len(sizes)
        parts = [part.contiguous() for part in (x.chunk(world, 1) if to_heads else x.split(sizes, 2))]
        shapes = [(*x.shape[:1], x.shape[1] // world, size, x.shape[3]) if to_heads else (x.shape[0], x.shape[1], sizes[rank], x.shape[3]) for size in sizes]
        lengths = [torch.Size(shape).numel() for shape in shapes]
        out = x.new_empty(sum(lengths))
        dist.all_to_all_single(out, torch.cat([part.flatten() for part in parts]), lengths, [part.numel() for part in parts])
        return torch.cat([part.view(shape) for part, shape in zip(out.split(lengths), shapes)], 2 if to_heads else 1)

    @staticmethod
    def backward(ctx, dy):
        return Exchange.forward(ctx, dy.contiguous(), ctx.sizes, ctx.rank, not ctx.to_heads), None, None, None


def attend(way, q, k, v, sizes, rank):
    if way == "gather":
        k, v = Gather.apply(torch.stack([k, v]), sizes, rank).unbind()
        return F.scaled_dot_product_attention(q, k, v)
    if way == "ring":
        return Ring.apply(q, k, v, sizes, rank)
    q, k, v = Exchange.apply(torch.cat([q, k, v], 3), sizes, rank, True).chunk(3, 3)
    return Exchange.apply(F.scaled_dot_product_attention(q, k, v), sizes, rank, False)


class Rank(TrainingRank):
    def reset(self, way):
        """The first weights and a new optimiser. `way`: gather, ring or a2a; none: one process with all tokens."""
        self.way, self.model = way, self.first_model()
        self.optimizer = torch.optim.Adam(self.model.parameters(), **self.adam())
        self.sizes = shares(self.model.grid[0] * self.model.grid[1], self.world)
        self.partial = [p for name, p in self.model.named_parameters() if name.startswith(("blocks.", "norm."))]
        return {"torch": torch.__version__}

    def forecast(self, image):
        model, sizes, rank = self.model, self.sizes, self.rank
        x = Share.apply(model.patch_embed(image) + model.pos_embed, sizes, rank)
        for block in model.blocks:
            y, attn = block.norm1(x), block.attn
            q, k, v = (layer(y).unflatten(-1, (attn.heads, -1)).transpose(1, 2) for layer in (attn.q, attn.k, attn.v))
            x = x + attn.proj(attend(self.way, q, k, v, sizes, rank).transpose(1, 2).flatten(2))
            x = x + block.mlp(block.norm2(x))
        return unpatch(model.head(Unite.apply(model.norm(x), sizes, rank)), model.grid, model.patch, model.channels)

    def step(self):
        x, y = self.next_batch()
        self.optimizer.zero_grad()
        loss = relative_l2(self.model(x) if self.way == "none" else self.forecast(x), y)
        loss.backward()
        if self.way != "none":
            flat = torch.cat([p.grad.flatten() for p in self.partial])
            dist.all_reduce(flat)
            for p, grad in zip(self.partial, flat.split([p.numel() for p in self.partial])):
                p.grad.copy_(grad.view_as(p))
        self.optimizer.step()
        return loss


Rank(sys.argv[1]).serve()
