#pragma once
// What is given and what is promised in the exercise of lesson 15. You write my/15_one_f_one_b.cpp.
#include <optional>
#include <vector>

namespace isobar::exercise {

/// Given: one rank of a pipeline, in a step. Each has one stage, the one of its own number.
struct PipeRank {
  int ranks = 1;
  int rank = 0;
  int parts = 1;  ///< micro-batches of the step
};

/// Given: what a rank does with one micro-batch. The backward pass is made whole, or in two: I and W.
enum class PipeWork {
  forward,   ///< F: from the stream of the stage before to that of the stage behind
  backward,  ///< B: the gradient of what F was given, and the gradients of the stage's weights
  input,     ///< I: the gradient of what F was given
  weights    ///< W: the gradients of the stage's weights, some time behind I
};

struct PipeAction {
  PipeWork work = PipeWork::forward;
  int part = 0;  ///< micro-batch, 0 ... parts - 1

  bool operator==(const PipeAction&) const = default;
};

/// With whom a rank exchanges messages for one action; empty = with nobody.
struct PipePartners {
  std::optional<int> from = {};  ///< the rank whose message the action waits for
  std::optional<int> to = {};    ///< the rank that gets its result

  bool operator==(const PipePartners&) const = default;
};

}  // namespace isobar::exercise

namespace isobar::mine {

// You promise:

/// Warm-up of 1F1B: how many forward passes a rank makes before it takes one forward and one backward pass in
/// turn. The last rank has none; each rank before it makes one more, as far as there are micro-batches.
int warm_up(const exercise::PipeRank& at);

/// What share of the step a rank is idle, if all stages take equally long and messages no time: each rank
/// waits for `ranks` - 1 micro-batches' time.
double idle_of_step(int ranks, int parts);

/// The most micro-batches whose activations a rank keeps at a time in 1F1B. Kept is what had its F and not
/// yet its B.
int most_kept(const exercise::PipeRank& at);

/// One rank's actions of a step in 1F1B, F and B of each micro-batch once. Each of both works takes
/// micro-batches in rising order.
std::vector<exercise::PipeAction> one_f_one_b(const exercise::PipeRank& at);

/// Whose message an action of this work waits for, and who gets its result. The first stage reads its images,
/// the last one has the loss: neither comes from a rank.
exercise::PipePartners partners_of(const exercise::PipeRank& at, exercise::PipeWork work);

/// one_f_one_b with I and W in place of B (ZB-H1 of Qi et al., 2024). Kept until W: no rank keeps more than
/// the first one does in 1F1B, min(parts, ranks). Within that W comes as late as it can, so that it fills
/// the time in which the rank would be idle.
std::vector<exercise::PipeAction> split_backward(const exercise::PipeRank& at);

}  // namespace isobar::mine
