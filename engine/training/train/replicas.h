#pragma once
// What makes the models of all ranks one: equal weights at the start, equal buffers, one score.
#include "comm/comm.h"
#include "model/parameters.h"
#include "train/evaluate.h"

namespace isobar {

/// All ranks get the weights and buffers of rank 0. Where each has a share of the float32 weights alone, the
/// buffers, and with mesh.zero = 1 or 2 the rounded weights of all shares.
void broadcast_weights(Parameters& parameters, Comm& comm);

/// All ranks get rank 0's buffers, in one message; a model without any costs none.
void broadcast_buffers(const Parameters& parameters, Comm& comm);

/// The scores on all ranks' samples, the same on all of them: means weighted by samples. Where one rank's is
/// incomplete, all are. `fields` stay those of this rank. Every rank must call it.
Evaluation mean_over_ranks(Evaluation mine, Comm& comm);

}  // namespace isobar
