#include "formula/pipeline_memory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "pipeline/needs_of.h"

namespace isobar {
namespace {

/// Messages that a rank holds while it goes through its actions.
class MessageCount {
 public:
  MessageCount(const PipelineSchedule& schedule, int rank)
      : schedule_(schedule), table_(schedule), rank_(rank) {
    std::map<Neighbour, std::vector<int>> coming;
    for (const PipelineAction& action : schedule.ranks[static_cast<std::size_t>(rank)]) {
      if (const auto from = sender(action))
        coming[{table_.rank_of(*from), is_forward(action)}].push_back(table_.at(*from));
      if (const auto to = taker(action)) leaving_[{table_.rank_of(*to), is_forward(action)}];
    }
    for (const auto& [neighbour, order] : coming) come_ += most_come(order);
  }

  void receive(const PipelineAction& action) {
    const auto from = sender(action);
    if (!from) return;
    int& done = done_[table_.rank_of(*from)];
    done = std::max(done, table_.at(*from));
    drop_taken();
  }
  void send(const PipelineAction& action) {
    const auto to = taker(action);
    if (!to) return;
    leaving_[{table_.rank_of(*to), is_forward(action)}].insert(table_.at(*to));
    drop_taken();
  }
  /// One of each channel at least.
  std::uint64_t held() const {
    std::uint64_t out = come_;
    for (const auto& [neighbour, waiting] : leaving_) out += std::max<std::uint64_t>(1, waiting.size());
    return out;
  }

 private:
  using Neighbour = std::pair<int, bool>;  ///< its rank, and whether messages go forward

  static bool is_forward(const PipelineAction& action) { return action.work == PipelineWork::forward; }

  std::optional<PipelineAction> sender(const PipelineAction& action) const {
    const auto needs = table_.needs_of(action);
    for (int next = 0; next < needs.count; ++next)
      if (table_.rank_of(needs.actions[static_cast<std::size_t>(next)]) != rank_)
        return needs.actions[static_cast<std::size_t>(next)];
    return std::nullopt;
  }
  std::optional<PipelineAction> taker(const PipelineAction& action) const {
    PipelineAction out = {action.stage + (is_forward(action) ? 1 : -1), action.work, action.part};
    const bool is_message =
        action.work != PipelineWork::weight && out.stage >= 0 && out.stage < schedule_.stages;
    if (!is_message || table_.rank_of(out) == rank_) return std::nullopt;
    if (!table_.has(out))
      out.work = out.work == PipelineWork::backward ? PipelineWork::input : PipelineWork::backward;
    return out;
  }

  /// A neighbour asks for a message one action ahead, and surely does when that action's turn has come.
  void drop_taken() {
    for (auto& [neighbour, waiting] : leaving_) {
      const auto done = done_.find(neighbour.first);
      waiting.erase(waiting.begin(), waiting.upper_bound(done == done_.end() ? 0 : done->second + 1));
    }
  }

  /// A message that comes before one that is needed earlier waits. `order`: places in the sender's row.
  static std::uint64_t most_come(const std::vector<int>& order) {
    std::vector<int> sent = order;
    std::sort(sent.begin(), sent.end());
    std::uint64_t came = 0, out = 0;
    for (std::size_t taken = 0; taken < order.size(); ++taken) {
      const auto place = std::lower_bound(sent.begin(), sent.end(), order[taken]) - sent.begin();
      came = std::max(came, static_cast<std::uint64_t>(place) + 1);
      out = std::max(out, came - taken);
    }
    return out;
  }

  const PipelineSchedule& schedule_;
  ActionTable table_;
  int rank_;
  std::uint64_t come_ = 0;
  std::map<int, int> done_ = {};                          ///< a neighbour's last action that has surely ended
  std::map<Neighbour, std::multiset<int>> leaving_ = {};  ///< by the place of the action that takes them
};

std::int64_t tokens_here(const VitShape& shape, const TrainingForm& form) {
  return form.tokens > 0 ? form.tokens : shape.tokens();
}

}  // namespace

std::int64_t parameters_of_stages(const VitShape& shape, std::int64_t tp,
                                  const std::vector<StageBlocks>& blocks, const std::vector<int>& stages) {
  VitShape one = shape;
  one.depth = 1;
  const ParameterCounts counts = count_parameters(one);
  const std::int64_t block = parameters_on_rank(one, tp) - (counts.total() - counts.blocks);
  std::int64_t out = 0;
  for (const int stage : stages) {
    const StageBlocks& own = blocks.at(static_cast<std::size_t>(stage));
    out += (own.end - own.first) * block;
    if (stage == 0) out += counts.positions + counts.patch;
    if (stage + 1 == std::ssize(blocks)) out += counts.norm + counts.head;
  }
  return out;
}

StageBytes bytes_of_stage(const VitShape& shape, const TrainingForm& form,
                          const std::vector<StageBlocks>& blocks, int stage) {
  const StageBlocks& own = blocks.at(static_cast<std::size_t>(stage));
  const bool is_first = stage == 0, is_last = stage + 1 == std::ssize(blocks);
  VitShape here = shape;
  here.depth = own.end - own.first;
  const TrainingBytes whole = count_training_bytes(here, form);
  const std::int64_t tokens = tokens_here(shape, form);
  const auto rows_by_embed = static_cast<std::uint64_t>(form.batch * tokens * shape.embed),
             all_by_embed = static_cast<std::uint64_t>(form.batch * shape.tokens() * shape.embed);
  const auto v = static_cast<std::uint64_t>(form.kept.value_bytes),
             tp = static_cast<std::uint64_t>(form.kept.tp);
  const std::uint64_t of_blocks = whole.activations - whole.patches - whole.last_norm;
  const std::uint64_t ends = (is_first ? whole.patches : 0) + (is_last ? whole.last_norm : 0);
  StageBytes out = {.kept = of_blocks + ends};
  out.split = static_cast<std::uint64_t>(here.depth) * rows_by_embed * 16 * v / tp + ends;
  if (is_first) out.split += all_by_embed * v;  // the gradient of the embedding's product
  out.working = is_last ? whole.working : whole.mlp + whole.last_norm;
  return out;
}

std::int64_t kept_blocks(const PipelineSchedule& schedule, const std::vector<StageBlocks>& blocks, int rank) {
  std::int64_t kept = 0, most = 0;
  for (const PipelineAction& action : schedule.ranks[static_cast<std::size_t>(rank)]) {
    const StageBlocks& own = blocks.at(static_cast<std::size_t>(action.stage));
    if (action.work == PipelineWork::forward) most = std::max(most, kept += own.end - own.first);
    if (action.work == PipelineWork::backward || action.work == PipelineWork::input)
      kept -= own.end - own.first;
  }
  return most;
}

TrainingBytes count_pipeline_bytes(const VitShape& shape, const TrainingForm& form,
                                   const PipelineSchedule& schedule, const std::vector<StageBlocks>& blocks,
                                   int rank) {
  const std::vector<int> stages = schedule.stages_of(rank);
  std::map<int, StageBytes> by_stage;
  for (const int stage : stages) by_stage[stage] = bytes_of_stage(shape, form, blocks, stage);
  TrainingBytes out =
      count_training_bytes(shape, form, parameters_of_stages(shape, form.kept.tp, blocks, stages));
  out.activations = out.working = 0;
  const auto message = static_cast<std::uint64_t>(4 * form.batch * tokens_here(shape, form) * shape.embed) /
                       static_cast<std::uint64_t>(form.kept.shares_tokens ? form.kept.tp : 1);
  MessageCount messages(schedule, rank);
  std::uint64_t kept = 0, most = 0, in_flight = 0;
  const auto moment = [&](std::uint64_t working) {
    if (kept + working > out.activations + out.working)
      std::tie(out.activations, out.working) = std::tuple(kept, working);
    const std::uint64_t sent = messages.held() * message;
    if (kept + sent > most) std::tie(most, in_flight) = std::tuple(kept + sent, sent);
  };
  for (const PipelineAction& action : schedule.ranks[static_cast<std::size_t>(rank)]) {
    const StageBytes& own = by_stage[action.stage];
    const bool is_forward = action.work == PipelineWork::forward,
               is_weight = action.work == PipelineWork::weight;
    messages.receive(action);
    if (is_forward) kept += own.kept;
    moment(is_forward || is_weight ? 0 : own.working);
    if (is_weight) kept -= own.split;
    if (action.work == PipelineWork::backward || action.work == PipelineWork::input) kept -= own.kept;
    if (action.work == PipelineWork::input) kept += own.split;
    messages.send(action);
    moment(0);
  }
  out.in_flight += in_flight;
  return out;
}

}  // namespace isobar
