#pragma once
// What makes the models of all ranks one: equal weights at the start, equal buffers, one score.
#include <vector>

#include "comm/comm.h"
#include "model/parameters.h"
#include "train/evaluate.h"

namespace isobar {

/// All ranks get the weights of rank 0.
void broadcast_weights(Parameters& parameters, Comm& comm);

/// All ranks get rank 0's values of `buffers`, in one message for each type among them; without any, in none.
void broadcast_buffers(const std::vector<at::Tensor>& buffers, Comm& comm);

/// The scores on all ranks' samples, the same on all of them: means weighted by samples. Where one rank's is
/// incomplete, all are. `fields` stay those of this rank. Every rank must call it.
Evaluation mean_over_ranks(Evaluation mine, Comm& comm);

}  // namespace isobar
