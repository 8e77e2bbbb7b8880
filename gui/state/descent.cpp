#include "state/descent.h"

#include <fmt/format.h>

namespace isobar {
namespace {

constexpr std::size_t kNamedRanks = 4;

std::string pair_text(const Line& line) {
  return fmt::format("({:.4f}, {:.4f})", line.slope, line.intercept);
}

}  // namespace

void walk_on(DescentState& state) {
  while (state.walk->so_far().steps() <= state.shown) state.walk->step();
}

std::vector<std::string> step_text(const DescentState& state) {
  const Descent& descent = state.walk->so_far();
  const Config& config = *state.config;
  const std::size_t ranks = descent.ranks.size();
  const RankDescent& first = descent.ranks.front();
  const DescentStep& step = first.steps.at(state.shown);
  const Line& line = first.before(state.shown);
  const double lr = config.optim.lr;
  const auto batch = static_cast<std::int64_t>(state.walk->batch_of(0, state.shown).size());
  std::vector<std::string> out = {
      fmt::format("step {}:  m = {:.4f}, n = {:.4f}", state.shown + 1, line.slope, line.intercept),
      fmt::format("loss       L = 1/{} sum (m x + n - y)^2 = {:.5g}", config.train.global_batch, step.loss)};
  if (ranks == 1) {
    out.push_back(fmt::format("gradients  dL/dm = 2/{} sum (m x + n - y) x = {:.4f}", batch, step.own.slope));
    out.push_back(
        fmt::format("           dL/dn = 2/{} sum (m x + n - y)   = {:.4f}", batch, step.own.intercept));
  } else {
    for (std::size_t rank = 0; rank < std::min(ranks, kNamedRanks); ++rank)
      out.push_back(fmt::format("rank {}     (dL/dm, dL/dn) of its {} samples = {}", rank, batch,
                                pair_text(descent.ranks[rank].steps.at(state.shown).own)));
    if (ranks > kNamedRanks) out.push_back(fmt::format("           and {} ranks more", ranks - kNamedRanks));
    const char* const made = config.comm.sync == SyncKind::none ? "own" : "mean";
    out.push_back(fmt::format("{:<11}taken by rank 0 = {}", made, pair_text(step.taken)));
  }
  out.push_back(fmt::format("update     m = {:.4f} - {:g} x {:.4f} = {:.4f}", line.slope, lr,
                            step.taken.slope, step.line.slope));
  out.push_back(fmt::format("           n = {:.4f} - {:g} x {:.4f} = {:.4f}", line.intercept, lr,
                            step.taken.intercept, step.line.intercept));
  return out;
}

}  // namespace isobar
