#include "support/host_device/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"

namespace isobar::host_device {
namespace {

thread_local c10::DeviceIndex device_of_thread = 0;
thread_local std::array<HostStream*, kDevices> streams_of_thread = {};

using Pieces = std::vector<std::shared_ptr<Piece>>;

/// `piece` and all that it stands behind, which `is_done` tells to be done, is done; the oldest first.
template <typename IsDone, typename Do>
void do_in_order(const std::shared_ptr<Piece>& piece, const IsDone& is_done, const Do& do_it) {
  Pieces left = {piece};
  while (!left.empty()) {
    const std::shared_ptr<Piece> next = left.back();
    const std::size_t before = left.size();
    if (!is_done(*next))
      std::copy_if(next->behind.begin(), next->behind.end(), std::back_inserter(left),
                   [&](const auto& other) { return !is_done(*other); });
    if (left.size() > before) continue;
    left.pop_back();
    if (!is_done(*next)) do_it(*next);
  }
}

void run_up_to(const std::shared_ptr<Piece>& piece) {
  do_in_order(
      piece, [](const Piece& one) { return one.ran; },
      [](Piece& one) {
        one.ran = true;
        if (const std::function<void()> run = std::exchange(one.run, {})) run();
      });
}

}  // namespace

Use use_of(const void* memory, std::size_t bytes, bool writes) {
  const auto* const begin = static_cast<const std::byte*>(memory);
  return {{begin, begin + bytes}, writes, 0};
}

Use use_of(const at::Tensor& tensor, bool writes) {
  std::int64_t last = 0;
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) last += (tensor.size(dim) - 1) * tensor.stride(dim);
  const std::int64_t values = tensor.numel() == 0 ? 0 : last + 1;
  return use_of(tensor.const_data_ptr(), static_cast<std::size_t>(values) * tensor.dtype().itemsize(),
                writes);
}

std::string HostStream::name() const {
  const std::string which = id == 0 ? "the default stream" : fmt::format("stream {}", id);
  return device.index() == 0 ? which : fmt::format("{} of device {}", which, device.index());
}

HostDevice& HostDevice::get() {
  static HostDevice& device = *new HostDevice;  // tensors of other static objects may outlive it
  return device;
}

HostDevice::HostDevice() {
  for (c10::DeviceIndex index = 0; index < kDevices; ++index) {
    for (c10::StreamId id = 0; id < kStreams; ++id)
      streams_.push_back({{c10::DeviceType::PrivateUse1, index}, id, streams_.size() + 1});
  }
  register_guard();
  register_operators();
}

void HostDevice::begin(std::uint64_t seed) {
  const std::scoped_lock lock(mutex_);
  for (HostStream& stream : streams_) stream.capture = nullptr;
  recording_ = nullptr;
  stands_still_ = false;
  most_outstanding_ = next_of_pool_ = 0;
  piece_us_ = 1;
  random_.seed(seed);
  log_ = {};
  wait_for_all();
  violations_.clear();
}

std::vector<Violation> HostDevice::end() {
  const std::scoped_lock lock(mutex_);
  wait_for_all();
  return std::exchange(violations_, {});
}

void HostDevice::violated(const std::string& rule, const std::string& what) {
  const std::scoped_lock lock(mutex_);
  violations_.push_back({rule, what});
}

void HostDevice::refused(const std::string& rule, const std::string& what) {
  violated(rule, what);
  throw Error(what, rule, "", Exit::failed);
}

std::size_t HostDevice::outstanding() const {
  const std::scoped_lock lock(mutex_);
  std::size_t out = 0;
  for (const HostStream& stream : streams_) out += stream.queue.size();
  return out;
}

double HostDevice::now_us() const {
  const std::scoped_lock lock(mutex_);
  double out = 0;
  for (const HostStream& stream : streams_) {
    if (stream.last && stream.last->passed) out = std::max(out, stream.last->end_us);
  }
  return out;
}

c10::DeviceIndex HostDevice::current_device() const { return device_of_thread; }
void HostDevice::set_device(c10::DeviceIndex device) { device_of_thread = device; }

HostStream& HostDevice::stream(c10::Device device, c10::StreamId id) {
  const std::int64_t index = device.has_index() ? device.index() : device_of_thread;
  return streams_.at(static_cast<std::size_t>(index * kStreams + id));
}

HostStream& HostDevice::current(c10::DeviceIndex device) {
  HostStream* const set = streams_of_thread.at(static_cast<std::size_t>(device));
  return set != nullptr ? *set : stream({c10::DeviceType::PrivateUse1, device}, 0);
}

HostStream& HostDevice::exchange(HostStream& stream) {
  HostStream& before = current(stream.device.index());
  streams_of_thread.at(static_cast<std::size_t>(stream.device.index())) = &stream;
  return before;
}

HostStream& HostDevice::from_pool(c10::DeviceIndex device) {
  const std::scoped_lock lock(mutex_);
  const auto id = static_cast<c10::StreamId>(1 + next_of_pool_++ % (kStreams - 1));
  return stream({c10::DeviceType::PrivateUse1, device}, id);
}

void HostDevice::note(MemoryLog& log, HostStream& stream, const std::string& what,
                      const std::vector<Use>& uses) {
  for (const auto& [range, writes, number] : uses) {
    const auto block = find(range.begin);
    if (block == blocks_.end() || range.begin == range.end) continue;
    const Access access{range, writes, stream.line, stream.clock.of(stream.line),
                        what + " on " + stream.name()};
    const std::optional<Access> other = log.note(block->first, access, stream.clock);
    if (other)
      violated("race",
               fmt::format("{} {} what {} {}, and neither comes before the other", access.what,
                           writes ? "writes" : "reads", other->what, other->writes ? "writes" : "reads"));
  }
}

std::shared_ptr<Piece> HostDevice::append(HostStream& stream, const std::string& what, double us) {
  const auto piece = std::make_shared<Piece>();
  piece->what = what;
  if (stream.last) {
    piece->end_us = stream.last->end_us;
    if (!stream.last->passed) piece->behind.push_back(stream.last);
  }
  piece->end_us += us;
  stream.clock.join(host_);
  stream.clock.tick(stream.line);
  piece->clock = stream.clock;
  stream.last = piece;
  stream.queue.push_back(piece);
  const std::size_t most = most_outstanding_;
  if (most > 0 && outstanding() > most) {
    most_outstanding_ = 0;
    violated("run-ahead",
             fmt::format("{} on {}: more than {} pieces of work are outstanding", what, stream.name(), most));
  }
  return piece;
}

void HostDevice::ask(HostStream& stream, const std::string& what, const std::vector<Use>& uses,
                     const std::function<void()>& run, bool late) {
  const std::scoped_lock lock(mutex_);
  if (stream.capture) {
    stream.clock.tick(stream.line);
    note(stream.capture->log, stream, what, uses);
    std::vector<Use> known = uses;
    for (Use& use : known) {
      const auto block = find(use.range.begin);
      use.block = block == blocks_.end() ? 0 : block->second.number;
    }
    stream.capture->nodes.push_back({what, std::move(known), run});
    return;
  }
  const std::shared_ptr<Piece> piece = append(stream, what, piece_us_);
  piece->run = run;
  note(log_, stream, what, uses);
  if (!late) run_up_to(piece);
  let_go_on(3);
}

void HostDevice::also(HostStream& stream, const std::string& what, const std::vector<Use>& uses) {
  const std::scoped_lock lock(mutex_);
  note(log_, stream, what, uses);
}

void HostDevice::read(HostStream& stream, const std::string& what, const Use& use) {
  const std::scoped_lock lock(mutex_);
  if (stream.capture)
    refused("host read", what + " reads the device while " + stream.name() + " is recorded");
  wait(stream);
  const auto block = find(use.range.begin);
  if (block == blocks_.end()) return;
  const Access access{use.range, false, 0, host_.tick(0), what};
  const std::optional<Access> other = log_.note(block->first, access, host_);
  if (other)
    violated("race",
             fmt::format("the host reads ({}) what {} writes, and has not waited for it", what, other->what));
}

/// Marks it as done, and what it stands behind before it.
void HostDevice::pass(const std::shared_ptr<Piece>& piece) {
  run_up_to(piece);
  do_in_order(
      piece, [](const Piece& one) { return one.passed; },
      [](Piece& one) {
        one.passed = true;
        one.behind.clear();
      });
  for (HostStream& stream : streams_) {
    while (!stream.queue.empty() && stream.queue.front()->passed) stream.queue.pop_front();
  }
  if (outstanding() == 0) dropped_.clear();
}

/// The device does up to so many pieces, of any streams that can go on.
void HostDevice::let_go_on(std::uint64_t most) {
  if (stands_still_) return;
  for (std::uint64_t left = random_() % (most + 1); left > 0; --left) {
    Pieces ready;
    for (const HostStream& stream : streams_) {
      if (stream.queue.empty()) continue;
      const Pieces& behind = stream.queue.front()->behind;
      if (std::all_of(behind.begin(), behind.end(), [](const auto& other) { return other->passed; }))
        ready.push_back(stream.queue.front());
    }
    if (ready.empty()) return;
    pass(ready[random_() % ready.size()]);
  }
}

void HostDevice::check_waiting(const HostStream* stream, const std::string& what) {
  if (stream != nullptr && stream->capture)
    refused("synchronise", what + " while " + stream->name() + " is recorded");
  if (recording_ && recording_->thread == std::this_thread::get_id())
    refused("synchronise", what + " by the thread that records");
}

void HostDevice::record(HostEvent& event, HostStream& stream) {
  const std::scoped_lock lock(mutex_);
  if (event.stream != nullptr && event.stream->device != stream.device)
    refused("other device", fmt::format("an event of device {} is recorded on device {}",
                                        event.stream->device.index(), stream.device.index()));
  if (!event.heard)
    violated("double record",
             "an event is recorded again on " + stream.name() + ", and nobody has asked for its first time");
  event = {&stream, nullptr, {}, stream.capture, false};
  if (stream.capture) {
    stream.clock.tick(stream.line);
  } else {
    event.piece = append(stream, "an event", 0);
  }
  event.clock = stream.clock;
}

void HostDevice::block(HostEvent& event, HostStream& stream) {
  const std::scoped_lock lock(mutex_);
  if (event.stream == nullptr) return;
  event.heard = true;
  if (event.capture && !stream.capture) {
    if (stream.id == 0 || !event.capture->open)
      refused("capture", fmt::format("{} waits for an event that was recorded in a graph on {}",
                                     stream.name(), event.stream->name()));
    stream.capture = event.capture;
    event.capture->streams.insert(&stream);
  } else if (event.capture != stream.capture) {
    refused("capture",
            fmt::format("{}, which is recorded, waits for an event on {} from before the recording",
                        stream.name(), event.stream->name()));
  }
  stream.clock.join(event.clock);
  if (stream.capture) return;
  const std::shared_ptr<Piece> piece = append(stream, "a wait", 0);
  if (event.piece->passed) return;
  piece->behind.push_back(event.piece);
  piece->end_us = std::max(piece->end_us, event.piece->end_us);
}

bool HostDevice::query(HostEvent& event) {
  const std::scoped_lock lock(mutex_);
  if (event.stream == nullptr) return true;
  event.heard = true;
  if (event.capture) refused("synchronise", "the host asks for an event that was recorded in a graph");
  let_go_on(4);
  if (event.piece->passed) host_.join(event.clock);
  return event.piece->passed;
}

void HostDevice::wait(HostEvent& event) {
  const std::scoped_lock lock(mutex_);
  if (event.stream == nullptr) return;
  event.heard = true;
  check_waiting(event.capture ? event.stream : nullptr, "the host waits for an event");
  pass(event.piece);
  host_.join(event.clock);
}

double HostDevice::elapsed_us(HostEvent& begin, HostEvent& end) {
  const std::scoped_lock lock(mutex_);
  begin.heard = end.heard = true;
  if (!begin.piece || !end.piece || !begin.piece->passed || !end.piece->passed)
    throw Error("the time between two events is asked for before both were passed", "a host device", "",
                Exit::failed);
  return end.piece->end_us - begin.piece->end_us;
}

void HostDevice::wait(HostStream& stream) {
  const std::scoped_lock lock(mutex_);
  check_waiting(&stream, "the host waits for " + stream.name());
  if (stream.last) pass(stream.last);
  host_.join(stream.clock);
}

void HostDevice::wait_for_all() {
  const std::scoped_lock lock(mutex_);
  check_waiting(nullptr, "the host waits for the device");
  for (HostStream& stream : streams_) {
    if (stream.capture) refused("synchronise", "the host waits for a device of which a stream is recorded");
    wait(stream);
  }
}

}  // namespace isobar::host_device
