#include "comm/comm.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <cstring>

#include "comm/c10d_transport.h"
#include "comm/linked_transport.h"
#include "comm/meeting.h"
#include "comm/ring_transport.h"
#include "core/clock.h"
#include "core/error.h"

namespace isobar {

/// What all that one Comm hands out has in common.
class CommCore {
 public:
  std::unique_ptr<Transport> payload;
  std::unique_ptr<Transport> control;
  double timeout_s = 120;
  std::int64_t next = 0;
  std::int64_t step = -1;
  CommCounts counts;
  SpanWriter* spans = nullptr;
  StatusSlot* status = nullptr;
  std::filesystem::path status_folder;
};

namespace {

std::string described(const char* name, const at::Tensor& tensor, std::string_view what) {
  return fmt::format("{} {}[{}] {}", name, std::string(c10::toString(tensor.scalar_type())), tensor.numel(),
                     what);
}

std::string track_of(std::string_view what) {
  std::string out(what);
  for (char& c : out) c = c == ' ' ? '.' : c;
  return out;
}

}  // namespace

Work::Work(std::shared_ptr<CommCore> core, std::unique_ptr<Pending> pending, std::int64_t number,
           std::string what, std::int64_t bytes, std::string track, std::int64_t ready_us)
    : core_(std::move(core)),
      pending_(std::move(pending)),
      number_(number),
      what_(std::move(what)),
      bytes_(bytes),
      track_(std::move(track)),
      ready_us_(ready_us) {}

bool Work::done() { return pending_ == nullptr || pending_->done(); }

CollectiveTimes Work::wait() {
  if (pending_ == nullptr) return {};
  const std::unique_ptr<Pending> pending = std::move(pending_);
  if (core_->status != nullptr) core_->status->enter(number_, what_.c_str());
  if (!pending->wait(static_cast<std::int64_t>(core_->timeout_s * 1e6))) {
    throw Error(fmt::format("waited {:g} s for collective {}: {}", core_->timeout_s, number_, what_),
                fmt::format("rank {}, step {}", core_->payload->rank(), core_->step + 1), "", Exit::failed);
  }
  if (core_->status != nullptr) core_->status->leave();
  CollectiveTimes times{.ready_us = ready_us_, .begin_us = ready_us_, .end_us = pending->end_us()};
  if (times.end_us == 0) times.end_us = steady_us();
  if (core_->spans != nullptr && !track_.empty()) {
    core_->spans->add({.track = track_,
                       .name = "all_reduce",
                       .step = core_->step,
                       .begin_us = times.begin_us,
                       .end_us = times.end_us,
                       .bytes = bytes_});
    for (const RingStep& step : pending->steps()) {
      core_->spans->add({.track = "ring",
                         .name = step.phase == RingPhase::reduce ? "reduce" : "spread",
                         .step = core_->step,
                         .begin_us = step.begin_us,
                         .end_us = step.end_us,
                         .bytes = step.bytes});
    }
  }
  return times;
}

Comm::Comm() : core_(std::make_shared<CommCore>()) {
  core_->payload = make_solo_transport();
  core_->control = make_solo_transport();
}

Comm::Comm(const RankEnvironment& environment, const CommConfig& config, bool) : Comm() {
  core_->timeout_s = config.timeout_s;
  if (environment.world == 1) return;
  const auto store = meet(environment, config.timeout_s);
  const bool local = environment.launched_by == LaunchedBy::isobar;
  const auto gloo = [&](const char* name) {
    return make_gloo_transport(store, environment.rank, environment.world, name, config.timeout_s, local,
                               config.interface);
  };
  core_->payload = config.backend == "ring" ? make_ring_transport(store, environment.rank, environment.world,
                                                                  "payload", config.timeout_s)
                                            : gloo("payload");
  if (config.link.latency_us > 0 || config.link.gbit_per_s > 0) {
    core_->payload = make_linked_transport(std::move(core_->payload),
                                           link_of(config.link.latency_us, config.link.gbit_per_s), store,
                                           "link", config.timeout_s);
  }
  core_->control = gloo("control");
}

Comm::~Comm() = default;
Comm::Comm(Comm&&) noexcept = default;
Comm& Comm::operator=(Comm&&) noexcept = default;

int Comm::rank() const { return core_->payload->rank(); }
int Comm::size() const { return core_->payload->size(); }
std::string Comm::backend() const { return core_->payload->name(); }

Work Comm::all_reduce(const at::Tensor& tensor, Reduce reduce, std::string_view what) {
  const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
  ++core_->counts.calls;
  core_->counts.wire_bytes += 2 * (size() - 1) * bytes / size();
  const std::int64_t ready_us = steady_us();
  return {core_,         core_->payload->all_reduce(tensor, reduce),
          core_->next++, described("all_reduce", tensor, what),
          bytes,         track_of(what),
          ready_us};
}

Work Comm::broadcast(const at::Tensor& tensor, int root, std::string_view what) {
  const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
  ++core_->counts.calls;
  core_->counts.wire_bytes += rank() == root ? bytes : 0;
  const std::int64_t ready_us = steady_us();
  return {core_,         core_->payload->broadcast(tensor, root),
          core_->next++, described("broadcast", tensor, what),
          bytes,         track_of(what),
          ready_us};
}

Work Comm::all_gather(const at::Tensor& out, const at::Tensor& in, std::string_view what) {
  const auto bytes = static_cast<std::int64_t>(out.nbytes());
  ++core_->counts.calls;
  core_->counts.wire_bytes += (size() - 1) * bytes / size();
  const std::int64_t ready_us = steady_us();
  return {core_,         core_->payload->all_gather(out, in),
          core_->next++, described("all_gather", out, what),
          bytes,         track_of(what),
          ready_us};
}

Work Comm::reduce_scatter(const at::Tensor& out, const at::Tensor& in, Reduce reduce, std::string_view what) {
  const auto bytes = static_cast<std::int64_t>(in.nbytes());
  ++core_->counts.calls;
  core_->counts.wire_bytes += (size() - 1) * bytes / size();
  const std::int64_t ready_us = steady_us();
  return {core_,         core_->payload->reduce_scatter(out, in, reduce),
          core_->next++, described("reduce_scatter", in, what),
          bytes,         track_of(what),
          ready_us};
}

void Comm::barrier(std::string_view what) { all_gather_numbers(0, what); }

std::vector<double> Comm::all_gather_numbers(double mine, std::string_view what) {
  const at::Tensor in = at::full({1}, mine, at::kDouble);
  const at::Tensor out = at::empty({size()}, at::kDouble);
  Work(core_, core_->control->all_gather(out, in), -1, std::string(what), 0, "", steady_us()).wait();
  return {out.const_data_ptr<double>(), out.const_data_ptr<double>() + size()};
}

std::vector<std::string> Comm::all_gather_text(const std::string& mine, std::string_view what) {
  const std::vector<double> lengths = all_gather_numbers(static_cast<double>(mine.size()), what);
  std::int64_t most = 1;
  for (const double length : lengths) most = std::max(most, static_cast<std::int64_t>(length));
  const at::Tensor in = at::zeros({most}, at::kByte);
  const at::Tensor out = at::empty({most * size()}, at::kByte);
  std::memcpy(in.mutable_data_ptr<std::uint8_t>(), mine.data(), mine.size());
  Work(core_, core_->control->all_gather(out, in), -1, std::string(what), 0, "", steady_us()).wait();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto* const begin = reinterpret_cast<const char*>(out.const_data_ptr<std::uint8_t>()) +
                              static_cast<std::int64_t>(i) * most;
    texts.emplace_back(begin, static_cast<std::size_t>(lengths[i]));
  }
  return texts;
}

Comm::PendingMax Comm::start_max(double mine, std::string_view what) {
  const at::Tensor place = at::full({}, mine, at::kDouble);
  return {
      Work(core_, core_->control->all_reduce(place, Reduce::max), -1, std::string(what), 0, "", steady_us()),
      place};
}

double Comm::PendingMax::value() {
  work.wait();
  return place.item<double>();
}

void Comm::begin_step(std::int64_t step) { core_->step = step; }
CommCounts Comm::counts() const { return core_->counts; }

void Comm::tell(SpanWriter* spans, StatusSlot* status, const std::filesystem::path& status_folder) {
  core_->spans = spans;
  core_->status = status;
  core_->status_folder = status_folder;
}

}  // namespace isobar
