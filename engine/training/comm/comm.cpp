#include "comm/comm.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "comm/backends.h"
#include "comm/comm_core.h"
#include "comm/rank_words.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {

Comm::Comm() : core_(std::make_shared<CommCore>(std::make_shared<CommShared>())) { core_->open(); }

Comm Comm::alone(int rank) {
  Comm out;
  out.core_->members = {rank};
  return out;
}

Comm::Comm(std::shared_ptr<CommCore> core) : core_(std::move(core)) {}

Comm::~Comm() = default;
Comm::Comm(Comm&&) noexcept = default;
Comm& Comm::operator=(Comm&&) noexcept = default;

int Comm::rank() const { return core_->rank(); }
int Comm::size() const { return core_->size(); }
std::string Comm::backend() const { return core_->payload ? core_->payload->name() : "none"; }
std::string Comm::note() const {
  if (!core_->backends) return "";
  const std::string link = core_->payload ? core_->payload->note() : "";
  return link.empty() ? core_->backends->note() : link;
}
bool Comm::is_broken() const { return core_->is_broken(); }
bool Comm::followed() const { return core_->shared->followed; }
const std::vector<int>& Comm::members() const { return core_->members; }
void Comm::skip_checks() { core_->compares = false; }

void Comm::connect() {
  if (size() == 1 || !core_->payload->blocks_stream()) return;
  core_->is_counted = false;
  broadcast(at::zeros({1}, at::TensorOptions(at::kFloat).device(at::kCUDA)), 0, "connect").wait();
  core_->is_counted = true;
}

void Comm::give_up() noexcept {
  try {
    throw Error("this rank left in the middle of it", core_->place(), "see its own error", Exit::failed);
  } catch (...) {
    core_->break_off(std::current_exception(), Blame::this_rank);
  }
}

Comm Comm::group(const std::vector<int>& ranks, const std::string& name) const {
  const std::set<int> different(ranks.begin(), ranks.end());
  const bool fits = !ranks.empty() && different.size() == ranks.size() && *different.begin() >= 0 &&
                    *different.rbegin() < size();
  if (!fits) {
    throw Error(fmt::format("ranks {} are no group of {}", rank_list(ranks), size()), "group " + name,
                "each rank once, from 0", Exit::failed);
  }
  return part({ranks}, name);
}

Comm Comm::part(const std::vector<std::vector<int>>& groups, const std::string& name, Reach reach) const {
  std::string all;
  std::vector<int> mine;
  std::set<int> seen;
  for (const std::vector<int>& ranks : groups) {
    all += fmt::format("[{}]\n", rank_list(ranks));
    for (const int rank : ranks) {
      if (rank < 0 || rank >= size() || !seen.insert(rank).second) {
        throw Error(fmt::format("rank {} is in two groups, or there is no such rank", rank), "groups " + name,
                    "each of the ranks once", Exit::failed);
      }
    }
    if (std::find(ranks.begin(), ranks.end(), rank()) != ranks.end()) mine = ranks;
  }
  if (size() > 1) core_->check_same_groups(name, all);
  auto core = std::make_shared<CommCore>(core_->shared);
  core->config = core_->config;
  core->backends = core_->backends;
  core->members.clear();
  for (const int rank : mine) core->members.push_back(core_->members[static_cast<std::size_t>(rank)]);
  core->name = (core_->is_world() ? "" : core_->name + "/") + name + "." +
               (mine.empty() ? "none" : std::to_string(core->members.front()));
  core->key = fmt::format("{}/{}.{}", core_->key, core_->groups_made++, mine.empty() ? -1 : mine.front());
  if (!mine.empty()) core->open(reach);
  return Comm(std::move(core));
}

Work Comm::all_reduce(const at::Tensor& tensor, Reduce reduce, std::string_view what) {
  return core_->start({.op = Op::all_reduce, .out = tensor, .reduce = reduce, .what = std::string(what)});
}

Work Comm::broadcast(const at::Tensor& tensor, int root, std::string_view what) {
  return core_->start({.op = Op::broadcast, .out = tensor, .root = root, .what = std::string(what)});
}

Work Comm::all_gather(const at::Tensor& out, const at::Tensor& in, std::string_view what) {
  return core_->start({.op = Op::all_gather, .out = out, .in = in, .what = std::string(what)});
}

Work Comm::reduce_scatter(const at::Tensor& out, const at::Tensor& in, Reduce reduce, std::string_view what) {
  return core_->start(
      {.op = Op::reduce_scatter, .out = out, .in = in, .reduce = reduce, .what = std::string(what)});
}

Work Comm::all_to_all(const at::Tensor& out, const at::Tensor& in, const std::vector<std::int64_t>& receives,
                      const std::vector<std::int64_t>& sends, std::string_view what) {
  return core_->start({.op = Op::all_to_all,
                       .out = out,
                       .in = in,
                       .what = std::string(what),
                       .receives = receives,
                       .sends = sends});
}

void Comm::barrier(std::string_view what) { core_->exchange(what, ""); }

std::vector<double> Comm::all_gather_numbers(double mine, std::string_view what) {
  std::vector<double> out;
  const std::string_view bytes(reinterpret_cast<const char*>(&mine), sizeof(mine));
  for (const std::string& text : core_->exchange(what, bytes)) {
    out.push_back(0);
    std::memcpy(&out.back(), text.data(), sizeof(double));
  }
  return out;
}

std::vector<std::string> Comm::all_gather_text(const std::string& mine, std::string_view what) {
  return core_->exchange_text(mine, std::string(what));
}

void Comm::check_same(std::string_view what, const std::string& text) {
  const std::optional<LineDifference> first = first_difference(all_gather_text(text, what), core_->members);
  if (!first) return;
  throw Error(
      fmt::format("ranks differ in their {}, line {}: {}", what, first->line, sides_text(first->sides)),
      core_->place(), "start all ranks with the same program and configuration", Exit::bad_input);
}

std::function<double()> Comm::start_max(double mine, std::string_view what) {
  const std::string_view bytes(reinterpret_cast<const char*>(&mine), sizeof(mine));
  auto exchange = std::make_shared<CommCore::Exchange>(core_->begin_exchange(what, bytes));
  return [core = core_, exchange] {
    double out = -std::numeric_limits<double>::infinity();
    for (const std::string& text : core->end_exchange(*exchange)) {
      double value = 0;
      std::memcpy(&value, text.data(), sizeof(value));
      out = std::isnan(value) ? value : std::max(out, value);
      if (std::isnan(out)) break;
    }
    return out;
  };
}

void Comm::begin_step(std::int64_t step) {
  core_->shared->step = step;
  ++core_->shared->steps_begun;
}

void Comm::record(bool records) { core_->shared->records = records; }

bool Comm::can_be_recorded() const { return size() == 1 || core_->payload->blocks_stream(); }

namespace {

/// What a stream was asked for before this was made.
class StreamPending final : public Pending {
 public:
  explicit StreamPending(c10::Device device) : event_(device.type()) {
    event_.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  }
  bool done() override { return event_.query(); }
  bool wait(std::int64_t) override {
    event_.synchronize();
    return true;
  }

 private:
  c10::Event event_;
};

}  // namespace

void Comm::watch_replay(c10::Device device, std::string_view what) {
  core_->throw_if_broken();
  if (size() == 1 || !core_->payload->blocks_stream()) return;
  const Waited waited{-1, std::string(what)};
  core_->watch(std::make_shared<StreamPending>(device), waited, "",
               Span{.track = "", .name = "", .begin_us = steady_us()});
}

std::int64_t Comm::step() const { return core_->shared->step; }

void Comm::raise_in_next_wait(int signal) { core_->shared->signal_in_wait = signal; }

void Comm::set_seam(std::shared_ptr<CommSeam> seam) { core_->shared->seam = std::move(seam); }

void Comm::backward(const BackwardPass& pass) { core_->shared->seam->backward(*core_, pass); }

CommCounts Comm::counts() const { return core_->counts; }

void Comm::leave_span(std::string_view track, std::string_view name, std::int64_t begin_us,
                      std::int64_t end_us, std::int64_t bytes) const {
  const CommShared& shared = *core_->shared;
  if (shared.spans == nullptr || !shared.spans->wants(shared.step)) return;
  Span span{.track = track, .name = name, .step = shared.step, .begin_us = begin_us, .end_us = end_us};
  span.bytes = bytes;
  shared.spans->add(span);
}

void Comm::tell(SpanWriter* spans, StatusSlot* status, const std::filesystem::path& status_folder) {
  core_->shared->spans = spans;
  core_->shared->status = status;
  core_->shared->status_folder = status_folder;
  if (status != nullptr) status->join(core_->shared->launch);
}

}  // namespace isobar
