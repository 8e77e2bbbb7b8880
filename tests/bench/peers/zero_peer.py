"""One rank of the step of `bench zero`, whose states PyTorch shards. Usage: zero_peer.py FOLDER (case.json, weights, batches)."""
import sys

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from training_rank import TrainingRank


class Rank(TrainingRank):
    def reset(self, kind):
        """The first weights and a new optimiser. `kind`: reshard = FSDP2, which gathers a block's weights again in backward; keep = FSDP2, which keeps
        them from forward to backward; optimiser = DDP with ZeroRedundancyOptimizer, where gradients and what is broadcast are views of buckets."""
        model = self.first_model()
        if kind == "optimiser":
            self.model = DistributedDataParallel(model, gradient_as_bucket_view=True)
            self.optimizer = ZeroRedundancyOptimizer(self.model.parameters(), torch.optim.Adam, parameters_as_bucket_view=True, **self.adam())
        else:
            mesh = init_device_mesh("cpu", (self.world,))
            for block in model.blocks:
                fully_shard(block, mesh=mesh, reshard_after_forward=kind == "reshard")
            self.model = fully_shard(model, mesh=mesh)  # the root keeps its own weights until backward, as by default
            self.optimizer = torch.optim.Adam(self.model.parameters(), **self.adam())
        return {"torch": torch.__version__}


Rank(sys.argv[1]).serve()
