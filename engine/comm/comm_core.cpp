#include "comm/comm_core.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "comm/comm_watch.h"
#include "comm/lost_ranks.h"
#include "comm/rank_words.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/fault.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::int64_t kCheckedSteps = 3;
constexpr std::int64_t kCheckedCollectives = 16;  // of those before the first step, where nothing says so
constexpr std::int64_t kPatience_us = 1'000'000;

const char* short_name(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "f32";
    case at::kDouble:
      return "f64";
    case at::kHalf:
      return "f16";
    case at::kBFloat16:
      return "bf16";
    case at::kInt:
      return "i32";
    case at::kLong:
      return "i64";
    case at::kByte:
      return "u8";
    default:
      return nullptr;
  }
}

const char* op_name(Op op) {
  constexpr std::array<const char*, 4> kNames = {"all_reduce", "broadcast", "all_gather", "reduce_scatter"};
  return kNames[static_cast<std::size_t>(op)];
}

std::string track_of(std::string what) {
  std::replace(what.begin(), what.end(), ' ', '.');
  return what;
}

template <std::size_t N>
void copy_text(std::array<char, N>& to, std::string_view from) {
  std::memcpy(to.data(), from.data(), std::min(from.size(), N - 1));
}

Frame frame_at(const at::Tensor& frames, std::size_t index) {
  Frame out{};
  std::memcpy(&out, frames.const_data_ptr<std::uint8_t>() + index * sizeof(Frame), sizeof(Frame));
  out.what.back() = '\0';
  return out;
}

/// Of the fault other_order: a collective that starts behind the one that was asked for after it, or when it
/// is waited for.
class Held final : public Pending {
 public:
  explicit Held(std::function<Work()> start) : start_(std::move(start)) {}
  void start() {
    if (start_) work_ = std::exchange(start_, nullptr)();
  }
  bool done() override { return !start_ && work_.done(); }
  bool wait(std::int64_t) override {
    start();
    work_.wait();
    return true;
  }

 private:
  std::function<Work()> start_;
  Work work_;
};

}  // namespace

std::string Collective::text() const {
  const char* const type = short_name(whole().scalar_type());
  constexpr std::array<const char*, 3> kReduce = {" sum", " mean", " max"};
  const bool reduces = op == Op::all_reduce || op == Op::reduce_scatter;
  return fmt::format("{}{} {}[{}]{} {}", op_name(op),
                     reduces ? kReduce[static_cast<std::size_t>(reduce)] : "",
                     type == nullptr ? c10::toString(whole().scalar_type()) : type, whole().numel(),
                     op == Op::broadcast ? fmt::format(" from rank {}", root) : "", what);
}

const char* Collective::name() const {
  constexpr std::array<const char*, 4> kNames = {"all-reduce", "broadcast", "all-gather", "reduce-scatter"};
  return kNames[static_cast<std::size_t>(op)];
}

void check_collective(const Collective& job, int size) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    throw Error("this cannot be sent: " + why, job.text(), hint, Exit::failed);
  };
  const at::ScalarType type = job.whole().scalar_type();
  if (short_name(type) == nullptr)
    refuse(std::string("its type is ") + c10::toString(type), "f32, f64, f16, bf16, i32, i64 and u8 can be");
  if (job.whole().numel() == 0) refuse("it is empty", "leave the collective out on all ranks");
  const bool reduces = job.op == Op::all_reduce || job.op == Op::reduce_scatter;
  if (reduces && job.reduce == Reduce::mean && !at::isFloatingType(type))
    refuse("whole numbers have no mean", "sum them");
  if (job.op == Op::broadcast && (job.root < 0 || job.root >= size))
    refuse(fmt::format("there is no rank {} among {}", job.root, size), "");
  for (const at::Tensor& tensor : {job.out, job.in}) {
    if (tensor.defined() && !tensor.is_contiguous()) refuse("it has gaps in memory", "contiguous() has none");
  }
  if (!job.in.defined()) return;
  const at::Tensor& part = job.op == Op::all_gather ? job.in : job.out;
  if (job.in.scalar_type() != job.out.scalar_type() || job.in.device() != job.out.device())
    refuse("input and output differ in type or device", "");
  if (part.numel() * size != job.whole().numel())
    refuse(fmt::format("{} values of each of {} ranks are not {}", part.numel(), size, job.whole().numel()),
           "");
}

CommCore::CommCore() : begin_ns(wall_ns()) {}

CommCore::~CommCore() {
  watch_.reset();
  own_status.end(is_broken()                      ? RankPhase::followed
                 : std::uncaught_exceptions() > 0 ? RankPhase::failed
                                                  : RankPhase::done);
}

std::string CommCore::place() const {
  const std::string group = is_world() ? "" : ", group " + name;
  return step < 0 ? fmt::format("rank {}, before the first step{}", world_rank(), group)
                  : fmt::format("rank {}, step {}{}", world_rank(), step + 1, group);
}

void CommCore::throw_if_broken() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

bool CommCore::is_broken() {
  const std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

void CommCore::break_off(std::exception_ptr failure) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = std::move(failure);
  }
  if (payload) payload->abort();
  if (control) control->abort();
}

void CommCore::count(const Collective& job) {
  if (!is_counted) return;
  ++counts.calls;
  const auto bytes = static_cast<std::int64_t>(job.whole().nbytes());
  const std::int64_t n = size();
  switch (job.op) {
    case Op::all_reduce:
      counts.wire_bytes += 2 * (n - 1) * bytes / n;
      return;
    case Op::broadcast:
      counts.wire_bytes += rank() == job.root ? bytes : 0;
      return;
    default:
      counts.wire_bytes += (n - 1) * bytes / n;
      return;
  }
}

std::shared_ptr<Pending> CommCore::dispatch(const Collective& job) {
  switch (job.op) {
    case Op::all_reduce:
      return payload->all_reduce(job.out, job.reduce);
    case Op::broadcast:
      return payload->broadcast(job.out, job.root);
    case Op::all_gather:
      return payload->all_gather(job.out, job.in);
    default:
      return payload->reduce_scatter(job.out, job.in, job.reduce);
  }
}

bool CommCore::is_checked() const {
  if (size() == 1 || !is_counted) return false;  // a probe is to measure the network alone
  return config.check || (steps_begun == 0 ? next_ < kCheckedCollectives : steps_begun <= kCheckedSteps);
}

bool CommCore::strikes(const Collective& job) {
  const FaultSetting& fault = fault_setting();
  const bool is_ours = fault.fault == Fault::other_shape || fault.fault == Fault::other_order ||
                       fault.fault == Fault::extra_collective;
  if (!is_ours || !is_counted || step != fault.step || struck_step_ == step || world_rank() != fault.rank ||
      size() == 1 || job.op != Op::all_reduce)
    return false;
  struck_step_ = step;
  return true;
}

Work CommCore::start(Collective job) {
  throw_if_broken();
  if (!payload) {
    throw Error("this rank is not part of group " + name, job.text(), "ask Comm::is_member() first",
                Exit::failed);
  }
  check_collective(job, size());
  if (held_) {
    const std::shared_ptr<Pending> held = std::exchange(held_, nullptr);
    Work out = launch(job);
    static_cast<Held&>(*held).start();
    return out;
  }
  if (!strikes(job)) return launch(job);
  if (has_fault(Fault::other_order)) {
    held_ = std::make_shared<Held>([this, job] {
      held_.reset();
      return launch(job);
    });
    return {shared_from_this(), held_, -1,
            job.text(),         "",    Span{.track = "", .name = "", .begin_us = steady_us()}};
  }
  if (has_fault(Fault::extra_collective))
    launch({.op = Op::all_reduce, .out = at::zeros({64}, job.out.options()), .what = "extra"}).wait();
  if (has_fault(Fault::other_shape)) job.out = job.out.view({-1}).narrow(0, 0, job.out.numel() - 1);
  return launch(job);
}

Work CommCore::launch(const Collective& job) {
  const std::int64_t ready_us = steady_us();
  const bool checked = is_checked();
  const std::int64_t number = next_++;
  const std::string text = job.text();
  count(job);
  arrive(number, text);
  if (board) board->arrive(number, ready_us);
  if (checked) exchange(fmt::format("collective {}: {}", number, text), "");
  std::shared_ptr<Pending> pending;
  try {
    pending = dispatch(job);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    lose({number, text}, ready_us, error.what());
  }
  if (status != nullptr) status->leave();
  Span span{.track = "", .name = job.name(), .step = step, .begin_us = ready_us, .end_us = 0};
  span.bytes = static_cast<std::int64_t>(job.whole().nbytes());
  if (payload->blocks_stream()) watch(pending, number, text, track_of(is_counted ? job.what : ""), span);
  return {shared_from_this(), std::move(pending), number, text, track_of(is_counted ? job.what : ""), span};
}

void CommCore::arrive(std::int64_t number, const std::string& what) noexcept {
  if (status == nullptr) return;
  if (is_world() && number >= 0) arrived_ = number;
  status->enter(is_world() ? arrived_ : -1, what.c_str());
}

CommCore::Exchange CommCore::begin_exchange(std::string_view what, std::string_view data) {
  throw_if_broken();
  Frame frame{};
  copy_text(frame.what, what);
  frame.bytes = static_cast<std::int64_t>(data.size());
  copy_text(frame.data, data);
  const at::Tensor in = at::empty({static_cast<std::int64_t>(sizeof(Frame))}, at::kByte);
  std::memcpy(in.mutable_data_ptr<std::uint8_t>(), &frame, sizeof(Frame));
  const at::Tensor out = at::empty({size() * in.numel()}, at::kByte);
  return {control->all_gather(out, in), in, out, std::string(what)};
}

std::vector<std::string> CommCore::end_exchange(const Exchange& exchange) {
  await(*exchange.pending, -1, exchange.what);
  std::vector<std::string> out;
  std::vector<std::string> whats;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Frame frame = frame_at(exchange.out, i);
    whats.emplace_back(frame.what.data());
    const auto bytes = static_cast<std::size_t>(std::clamp<std::int64_t>(frame.bytes, 0, Frame::kRoom - 1));
    out.emplace_back(frame.data.data(), bytes);
  }
  const std::vector<Side> sides = sides_of(whats, members);
  if (sides.size() == 1) return out;
  const Error error("ranks do not do the same, and nothing was sent: " + sides_text(sides), place(),
                    "all ranks call the same collectives, in one order, with equal shapes and types",
                    Exit::failed);
  break_off(std::make_exception_ptr(error));
  throw error;
}

std::vector<std::string> CommCore::exchange(std::string_view what, std::string_view data) {
  return end_exchange(begin_exchange(what, data));
}

std::vector<std::string> CommCore::exchange_text(const std::string& mine, const std::string& what) {
  constexpr std::size_t kInline = Frame::kRoom - 1 - sizeof(std::int64_t);
  std::string head(sizeof(std::int64_t), '\0');
  const auto mine_bytes = static_cast<std::int64_t>(mine.size());
  std::memcpy(head.data(), &mine_bytes, sizeof(mine_bytes));
  head += mine.substr(0, kInline);
  std::vector<std::string> texts = exchange(what, head);
  std::vector<std::size_t> lengths;
  for (std::string& text : texts) {
    std::int64_t bytes = 0;
    std::memcpy(&bytes, text.data(), sizeof(bytes));
    lengths.push_back(static_cast<std::size_t>(bytes));
    text.erase(0, sizeof(bytes));
  }
  const std::size_t most = *std::max_element(lengths.begin(), lengths.end());
  if (most <= kInline) return texts;
  const at::Tensor in = at::zeros({static_cast<std::int64_t>(most)}, at::kByte);
  const at::Tensor out = at::empty({in.numel() * size()}, at::kByte);
  std::memcpy(in.mutable_data_ptr<std::uint8_t>(), mine.data(), mine.size());
  await(*control->all_gather(out, in), -1, what);
  const auto* const all = reinterpret_cast<const char*>(out.const_data_ptr<std::uint8_t>());
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i].assign(all + i * most, lengths[i]);
  return texts;
}

void CommCore::leave_spans(const CollectiveTimes& times, const std::string& track, Span span) {
  if (spans == nullptr || track.empty() || !spans->wants(span.step)) return;
  span.track = track;
  if (times.begin_us > times.ready_us) {
    Span wait = span;
    wait.name = "wait";
    wait.bytes = 0;
    wait.end_us = times.begin_us;
    spans->add(wait);
  }
  span.begin_us = times.begin_us;
  span.end_us = times.end_us;
  spans->add(span);
}

void CommCore::await(Pending& pending, std::int64_t number, const std::string& what) {
  throw_if_broken();
  if (status != nullptr) arrive(number, what);
  const Waited waited{number, what};
  const auto limit_us = static_cast<std::int64_t>(config.timeout_s * 1e6);
  const std::int64_t begin_us = steady_us();
  const std::int64_t patience_us = std::min(kPatience_us, limit_us / 4 + 1000);
  try {
    for (bool first = true; !pending.wait(patience_us); first = false) {
      if (first) leave_waiting(*this, waited);
      throw_if_broken();
      std::string how;
      if (ended_rank(*this, how)) lose(waited, begin_us, "");
      const std::int64_t waited_us = steady_us() - begin_us;
      if (waited_us < limit_us) continue;
      const Error error = late_error(*this, waited, static_cast<double>(waited_us) * 1e-6);
      break_off(std::make_exception_ptr(error));
      throw error;
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    lose(waited, begin_us, error.what());
  }
  if (status != nullptr) status->leave();
}

void CommCore::lose(const Waited& waited, std::int64_t begin_us, const std::string& raw) {
  throw_if_broken();  // what was aborted here is no news
  const double waited_s = static_cast<double>(steady_us() - begin_us) * 1e-6;
  const Error error = lost_error(*this, waited, waited_s, raw);
  break_off(std::make_exception_ptr(error));
  throw error;
}

void CommCore::watch(const std::shared_ptr<Pending>& pending, std::int64_t number, const std::string& what,
                     const std::string& track, const Span& span) {
  if (!watch_) watch_ = std::make_unique<CommWatch>(*this);
  watch_->add({pending, number, what, track, span});
}

}  // namespace isobar
