"""One rank of the step of `bench pipeline` with torch.distributed.pipelining. Usage: pipeline_peer.py FOLDER (case.json, weights, batches)."""
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B, ScheduleInterleavedZeroBubble

from training_rank import TrainingRank
from vit import relative_l2, unpatch

SINGLE = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B}  # take one stage a rank
SEVERAL = {"interleaved": ScheduleInterleaved1F1B, "zb_h1": ScheduleInterleavedZeroBubble}  # with one stage a rank this is ZB-H1


class Blocks(nn.Module):
    """Blocks [first, end) of a model, with what stands in front of its first block and behind its last one."""

    def __init__(self, model, first, end):
        super().__init__()
        self.blocks, self.sizes = model.blocks[first:end], (model.grid, model.patch, model.channels)
        self.embeds, self.forecasts = first == 0, end == len(model.blocks)
        if self.embeds:
            self.pos_embed, self.patch_embed = model.pos_embed, model.patch_embed
        if self.forecasts:
            self.norm, self.head = model.norm, model.head

    def forward(self, x):
        if self.embeds:
            x = (self.patch_embed(x) + self.pos_embed).contiguous()  # Gloo sends nothing else
        for block in self.blocks:
            x = block(x)
        return unpatch(self.head(self.norm(x)), *self.sizes) if self.forecasts else x


class Rank(TrainingRank):
    def reset(self, kind, parts, ends):
        """The first weights and a new optimiser. `kind`: the schedule, or none: one process with all of the model; `parts`: micro-batches;
        `ends`: behind which block each stage ends, with commas."""
        model, parts, ends = self.first_model(), int(parts), [int(end) for end in ends.split(",")]
        self.is_first, self.is_last = self.rank == 0, self.rank == self.world - 1
        if kind == "none":
            self.schedule, self.model, self.parts = None, model, parts
            self.optimizer = torch.optim.Adam(model.parameters(), **self.adam())
            return {"torch": torch.__version__, "order": []}
        own = [Blocks(model, ([0] + ends)[i], ends[i]) for i in range(self.rank, len(ends), self.world)]
        stages = [PipelineStage(blocks, self.rank + i * self.world, len(ends), torch.device("cpu")) for i, blocks in enumerate(own)]
        how = {"n_microbatches": parts, "loss_fn": lambda out, target: relative_l2(out, target) / parts, "scale_grads": False}  # no pass over gradients, like ours
        self.schedule = SINGLE[kind](stages[0], **how) if kind in SINGLE else SEVERAL[kind](stages, **how)
        self.optimizer = torch.optim.Adam([one for blocks in own for one in blocks.parameters()], **self.adam())
        order = self.schedule.pipeline_order if kind in SEVERAL else {}  # the list for 1F1B's last rank is not what it works by
        return {"torch": torch.__version__, "order": [[str(action) for action in order[rank] if action] for rank in order]}

    def step(self):
        x, y = self.next_batch()
        self.optimizer.zero_grad()
        losses = []
        if self.schedule:
            self.schedule.step(*([x] if self.is_first else []), **({"target": y, "losses": losses} if self.is_last else {}), return_outputs=False)
        else:
            for image, target in zip(x.chunk(self.parts), y.chunk(self.parts)):
                loss = relative_l2(self.model(image), target) / self.parts
                loss.backward()
                losses.append(loss.detach())
        self.optimizer.step()
        return torch.stack(losses).sum() if self.is_last else torch.zeros(())

    def mean_loss(self, loss):
        """The last rank's, which is that of the whole batch."""
        loss = loss.detach().double()
        dist.broadcast(loss, self.world - 1)
        return loss.item()


Rank(sys.argv[1]).serve()
