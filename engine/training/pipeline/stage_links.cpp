#include "pipeline/stage_links.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <set>
#include <utility>

#include "config/fault.h"
#include "device/memory_ledger.h"

namespace isobar {
namespace {

constexpr int kNoStage = -1;
constexpr std::string_view kForwardReceived = "pp forward received";
constexpr std::string_view kBackwardReceived = "pp backward received";

/// From one rank to another.
using Edge = std::pair<int, int>;

/// Edges that have no rank in common, by rounds.
std::vector<std::vector<Edge>> rounds_of(std::set<Edge> edges) {
  std::vector<std::vector<Edge>> out;
  while (!edges.empty()) {
    std::set<int> taken;
    out.emplace_back();
    for (const Edge& edge : edges) {
      if (taken.count(edge.first) + taken.count(edge.second) > 0) continue;
      taken.insert({edge.first, edge.second});
      out.back().push_back(edge);
    }
    for (const Edge& edge : out.back()) edges.erase(edge);
  }
  return out;
}

}  // namespace

StageLinks::StageLinks(Comm& ranks, const PipelineSchedule& schedule)
    : ranks_(ranks),
      schedule_(schedule),
      is_synchronous_(has_fault(Fault::deadlock)),
      posts_ahead_(!is_synchronous_ && !ranks.can_be_recorded()) {
  make_channels();
}

StageLinks::~StageLinks() {
  const bool is_open = std::any_of(channels_.begin(), channels_.end(), [](const Channel& one) {
    return !one.open.empty() || !one.leaving.empty();
  });
  if (!is_open) return;
  for (Channel& one : channels_) one.pair.give_up();
}

int StageLinks::rank_of(int stage) const { return schedule_.rank_of_stage[static_cast<std::size_t>(stage)]; }

int StageLinks::taker_of(const PipelineAction& action) const {
  if (action.work == PipelineWork::weight) return kNoStage;
  const int stage = action.work == PipelineWork::forward ? action.stage + 1 : action.stage - 1;
  return stage < schedule_.stages ? stage : kNoStage;
}

void StageLinks::make_channels() {
  std::map<std::pair<bool, Edge>, std::vector<PipelineAction>> orders;
  for (std::size_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
    for (const PipelineAction& action : schedule_.ranks[rank]) {
      const int taker = taker_of(action);
      if (taker == kNoStage || rank_of(taker) == static_cast<int>(rank)) continue;
      const Edge edge = {static_cast<int>(rank), rank_of(taker)};
      orders[{action.work == PipelineWork::forward, edge}].push_back(action);
    }
  }
  for (const bool is_forward : {true, false}) {
    std::set<Edge> edges;
    for (const auto& [channel, order] : orders)
      if (channel.first == is_forward) edges.insert(channel.second);
    for (const std::vector<Edge>& round : rounds_of(edges)) {
      std::vector<std::vector<int>> pairs;
      const Edge* mine = nullptr;
      for (const Edge& edge : round) {
        pairs.push_back({edge.first, edge.second});
        if (edge.first == ranks_.rank() || edge.second == ranks_.rank()) mine = &edge;
      }
      Comm pair = ranks_.part(pairs, is_forward ? "forward" : "backward");
      if (mine == nullptr) continue;
      pair.skip_checks();
      pair.connect();
      channels_.push_back({.from = mine->first,
                           .to = mine->second,
                           .is_forward = is_forward,
                           .pair = std::move(pair),
                           .order = orders[{is_forward, *mine}]});
    }
  }
}

StageLinks::Channel& StageLinks::channel(int from, int to, bool is_forward) {
  return *std::find_if(channels_.begin(), channels_.end(), [&](const Channel& one) {
    return one.from == from && one.to == to && one.is_forward == is_forward;
  });
}

std::string_view StageLinks::track(const Channel& channel) const {
  return channel.is_forward ? kPipeForwardTrack : kPipeBackwardTrack;
}

void StageLinks::begin(const std::vector<std::int64_t>& shape, const at::TensorOptions& options) {
  shape_ = shape;
  options_ = options.dtype(at::kFloat).requires_grad(false);
  own_.clear();
  times_.clear();
  sent_ = sent_bytes_ = 0;
  for (Channel& one : channels_) {
    one.posted = one.came = 0;
    one.waiting.clear();
  }
}

void StageLinks::post(Channel& channel) {
  const MemoryScope scope(channel.is_forward ? MemoryCategory::activations : MemoryCategory::communication);
  const at::Tensor tensor = at::empty(shape_, options_);
  channel.open.push_back({tensor, channel.pair.broadcast(tensor, 0, track(channel))});
  ++channel.posted;
}

void StageLinks::expect(const PipelineAction& action) {
  const PipelineMessage message = message_before(schedule_, action);
  if (!message.has_message || !posts_ahead_) return;
  Channel& from =
      channel(rank_of(message.from.stage), ranks_.rank(), message.from.work == PipelineWork::forward);
  const auto place = std::find(from.order.begin(), from.order.end(), message.from);
  while (from.posted <= static_cast<std::size_t>(place - from.order.begin())) post(from);
}

void StageLinks::wait(Channel& channel, Work& work) {
  CollectiveTimes times = work.wait();
  if (times.last_rank >= 0) times.last_rank = times.last_rank == 0 ? channel.from : channel.to;
  times_.push_back(times);
}

void StageLinks::land(Channel& channel) {
  if (channel.open.empty()) post(channel);
  Message message = std::move(channel.open.front());
  channel.open.pop_front();
  wait(channel, message.work);
  if (is_synchronous_) acknowledge(channel);
  channel.waiting[channel.order[channel.came++]] = std::move(message.tensor);
}

void StageLinks::acknowledge(Channel& channel) {
  const at::Tensor word = at::zeros({1}, options_);
  Work work = channel.pair.broadcast(word, 1, channel.is_forward ? kForwardReceived : kBackwardReceived);
  if (ranks_.rank() == channel.from) return wait(channel, work);
  channel.leaving.push_back({word, std::move(work)});
}

at::Tensor StageLinks::receive(const PipelineAction& action) {
  const PipelineMessage message = message_before(schedule_, action);
  if (!message.has_message) {
    const bool is_forward = action.work == PipelineWork::forward;
    const auto found = own_.find({is_forward ? action.stage - 1 : action.stage + 1, is_forward, action.part});
    if (action.work == PipelineWork::weight || found == own_.end()) return {};
    const at::Tensor out = found->second;
    own_.erase(found);
    return out;
  }
  expect(action);
  Channel& from =
      channel(rank_of(message.from.stage), ranks_.rank(), message.from.work == PipelineWork::forward);
  while (from.waiting.count(message.from) == 0) land(from);
  const at::Tensor out = from.waiting[message.from];
  from.waiting.erase(message.from);
  return out;
}

void StageLinks::send(const PipelineAction& action, const at::Tensor& out) {
  const int taker = taker_of(action);
  if (taker == kNoStage) return;
  const bool is_forward = action.work == PipelineWork::forward;
  if (rank_of(taker) == ranks_.rank()) {
    own_[{action.stage, is_forward, action.part}] = out;
    return;
  }
  for (Channel& one : channels_) {
    for (; !one.leaving.empty() && one.leaving.front().work.done(); one.leaving.pop_front())
      wait(one, one.leaving.front().work);
  }
  Channel& to = channel(ranks_.rank(), rank_of(taker), is_forward);
  const at::Tensor tensor = out.contiguous();
  Message message{tensor, to.pair.broadcast(tensor, 0, track(to))};
  ++sent_;
  sent_bytes_ += static_cast<std::int64_t>(tensor.nbytes());
  if (!is_synchronous_) {
    to.leaving.push_back(std::move(message));
    return;
  }
  wait(to, message.work);
  acknowledge(to);
}

void StageLinks::finish() {
  for (Channel& one : channels_)
    for (; !one.leaving.empty(); one.leaving.pop_front()) wait(one, one.leaving.front().work);
}

at::Tensor StageLinks::hand_on(int stage, const at::Tensor& out, const std::vector<std::int64_t>& shape,
                               const at::TensorOptions& options) {
  const int from = rank_of(stage), to = rank_of(stage + 1);
  const int here = ranks_.rank();
  if (from == to || (here != from && here != to)) return out;
  Channel& over = channel(from, to, /*is_forward=*/true);
  const at::Tensor tensor =
      here == from ? out.contiguous() : at::empty(shape, options.dtype(at::kFloat).requires_grad(false));
  over.pair.broadcast(tensor, 0, track(over)).wait();
  return tensor;
}

std::vector<CollectiveTimes> StageLinks::take_times() {
  std::stable_sort(times_.begin(), times_.end(),
                   [](const CollectiveTimes& a, const CollectiveTimes& b) { return a.end_us < b.end_us; });
  return std::exchange(times_, {});
}

CommCounts StageLinks::counts() const {
  CommCounts out;
  for (const Channel& one : channels_) {
    const CommCounts counts = one.pair.counts();
    out.calls += counts.calls;
    out.wire_bytes += counts.wire_bytes;
  }
  return out;
}

}  // namespace isobar
