"""One rank of the data-parallel step of `bench ddp` and `bench compress` with DistributedDataParallel. Usage: ddp_peer.py FOLDER (case.json, weights, batches)."""
import sys

import torch
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as hooks
from torch.nn.parallel import DistributedDataParallel

from training_rank import TrainingRank
from wire import read_safetensors


class Rank(TrainingRank):
    def reset(self, views, rank="0", start="0"):
        """The first weights, a new optimiser and a new DDP; `views` = views: gradients are views of its buckets. `rank` above 0:
        averaged by the PowerSGD hook of this rank behind the first `start` steps, in one bucket: the hook starts a bucket's second and
        third all-reduce in threads of Gloo, so that those of several buckets come in another order on each rank, and the process ends."""
        model = self.first_model()
        if int(rank) > 0:  # the hook sees [1, N, E] as one row, and sends it whole
            model.pos_embed = torch.nn.Parameter(model.pos_embed.detach()[0])
        cap_mb = 1024 if int(rank) > 0 else None
        self.model = DistributedDataParallel(model, bucket_cap_mb=cap_mb, gradient_as_bucket_view=views == "views")
        if int(rank) > 0:
            self.compress(model, int(rank), int(start))
        self.optimizer = torch.optim.Adam(self.model.parameters(), **self.adam())
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


Rank(sys.argv[1]).serve()
