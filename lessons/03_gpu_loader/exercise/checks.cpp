// What is asked of my/03_prefetch.cpp, easy things first.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "03_gpu_loader/exercise/part.h"
#include "03_gpu_loader/exercise/thread_stream.h"
#include "03_gpu_loader/exercise/traced_device.h"
#include "check/check.h"

namespace isobar {
namespace exercise {
namespace {

constexpr std::size_t kManySlots = 8;

std::string words(std::span<const std::byte> batch) {
  return batch.empty() ? "nothing, as behind the last batch"
                       : fmt::format("batch {}", TracedDevice::number_in(batch));
}

std::string count(std::size_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// What a loop does in a step.
void step(BatchPrefetch& prefetch, TracedDevice& device, std::int64_t wanted, const char* look) {
  const std::span<const std::byte> batch = prefetch.next();
  const bool is_wanted = !batch.empty() && TracedDevice::number_in(batch) == wanted;
  expect(is_wanted, {fmt::format("next() to hand out batch {}", wanted), words(batch), look});
  device.compute(batch);
}

/// So many steps with a device of so many buffers, that has batches left at the end.
void run(const Part& part, TracedDevice& device, std::int64_t steps) {
  const auto prefetch = part.make_prefetch(device.parts());
  for (std::int64_t batch = 0; batch < steps; ++batch)
    step(*prefetch, device, batch, "the order in which uploads are asked for and batches handed out");
}

/// The first two in no order of which one is of this kind and the other of that.
const Conflict* find(const TracedDevice& device, DeedKind first, DeedKind then) {
  for (const Conflict& conflict : device.conflicts())
    if (conflict.first.kind == first && conflict.then.kind == then) return &conflict;
  return nullptr;
}

void check_first(const Part& part) {
  TracedDevice device(20, kManySlots, 2);
  const auto prefetch = part.make_prefetch(device.parts());
  for (std::int64_t batch = 0; batch < 3; ++batch)
    step(*prefetch, device, batch,
         "upload(): from a slot that is taken to the buffer, and next(), which hands out the oldest");
}

void check_arrival(const Part& part) {
  TracedDevice device(20, kManySlots, 2);
  run(part, device, 5);
  if (const Conflict* const found = find(device, DeedKind::upload, DeedKind::kernel))
    not_yet({fmt::format("the kernel that reads batch {} to run behind its upload", found->then.batch),
             "nothing orders them: it may read what was there before",
             "which stream must wait in next(), and for which event"});
}

void check_host(const Part& part) {
  TracedDevice device(20, kManySlots, 3);
  const auto prefetch = part.make_prefetch(device.parts());
  for (std::int64_t batch = 0; batch < 6; ++batch) step(*prefetch, device, batch, "the order of batches");
  if (device.host_waits().empty()) return;
  const bool for_upload = device.host_waits().front() == Actor::uploads;
  not_yet({"the host to wait for nothing in six calls of next()",
           fmt::format("it waits {}, first for {}", count(device.host_waits().size(), "time"),
                       for_upload ? "an upload" : "a kernel"),
           "wait_on_host(): a stream can wait for the event itself, by wait()"});
}

void check_ahead(const Part& part) {
  for (const std::size_t buffers : {2U, 3U}) {
    TracedDevice device(20, kManySlots, buffers);
    const auto prefetch = part.make_prefetch(device.parts());
    for (std::size_t taken = 0; taken < 4; ++taken) {
      const std::size_t wanted = taken == 0 ? buffers : buffers + taken - 1;
      const std::string when = taken == 0 ? "before the first next()"
                                          : fmt::format("once next() was called {}", count(taken, "time"));
      expect(device.uploads().size() == wanted,
             {fmt::format("{} to be asked for {} ({} buffers)", count(wanted, "upload"), when, buffers),
              fmt::format("{}", device.uploads().size()),
              taken == 0 ? "what the constructor asks for: the loop must find batches on their way"
                         : "what next() asks for, now that the buffer of the batch before is free"});
      step(*prefetch, device, static_cast<std::int64_t>(taken), "the order of batches");
    }
  }
}

void check_overlap(const Part& part) {
  constexpr std::int64_t kBuffers = 3;
  TracedDevice device(20, kManySlots, kBuffers);
  run(part, device, 6);
  for (const Deed& upload : device.uploads()) {
    expect(upload.by == Actor::uploads,
           {fmt::format("the upload of batch {} on the stream for uploads", upload.batch),
            "it is on the one that computes, in line with the kernels", "whose copy() is called"});
    for (const Deed& kernel : device.kernels()) {
      expect(
          upload.batch <= kernel.batch || !kernel.is_behind(upload),
          {fmt::format("the kernel of batch {} to run beside the upload of batch {}", kernel.batch,
                       upload.batch),
           "it waits for that upload", "for which event next() lets the stream wait: that of its own batch"});
      expect(kernel.batch <= upload.batch - kBuffers || !upload.is_behind(kernel),
             {fmt::format("the upload of batch {} to run beside the kernel of batch {} ({} buffers)",
                          upload.batch, kernel.batch, kBuffers),
              "it waits for that kernel",
              "for which kernels an upload has to wait: those that read its buffer"});
    }
  }
}

void check_buffer(const Part& part) {
  for (const std::size_t buffers : {2U, 3U}) {
    TracedDevice device(20, kManySlots, buffers);
    run(part, device, 6);
    const Conflict* const found = find(device, DeedKind::kernel, DeedKind::upload);
    if (found == nullptr) continue;
    const auto waits = [](const Deed& upload) { return upload.past[Deed::index(Actor::computes)] > 0; };
    Finding finding{
        fmt::format("the upload of batch {} to wait for the kernel that reads batch {} in the same buffer",
                    found->then.batch, found->first.batch),
        "it waits for no kernel at all", "what makes a buffer free: an event of the stream that computes"};
    if (waits(found->then)) {
      finding.came = "it waits for an event that lies before that kernel";
      finding.look = "when the event is recorded: kernels are asked for between two calls of next()";
    } else if (std::any_of(device.uploads().begin(), device.uploads().end(), waits)) {
      finding.came = "the stream waits only behind that copy";
      finding.look = "the order of wait() and copy() in upload()";
    }
    not_yet(finding);
  }
}

void check_slot(const Part& part) {
  TracedDevice device(20, /*slots=*/2, /*buffers=*/3);
  run(part, device, 6);
  if (const Conflict* const found = find(device, DeedKind::upload, DeedKind::fill))
    not_yet({fmt::format("the upload of batch {} to be done before its slot is filled with batch {}",
                         found->first.batch, found->then.batch),
             "the event that the slot was given back with is not behind the copy",
             "the order of copy(), record() and give_back()"});
}

void expect_no_conflict(const TracedDevice& device, const char* when) {
  if (device.conflicts().empty()) return;
  const Conflict& found = device.conflicts().front();
  const auto name = [](const Deed& deed) {
    constexpr std::array kNames = {"the filling", "the upload", "the kernel", "the end"};
    return fmt::format("{} of batch {}", kNames[static_cast<std::size_t>(deed.kind)], deed.batch);
  };
  not_yet({fmt::format("{} behind {} {}", name(found.then), name(found.first), when), "nothing orders them",
           "what is different there"});
}

void check_one_buffer(const Part& part) {
  TracedDevice device(6, /*slots=*/1, /*buffers=*/1);
  const auto prefetch = part.make_prefetch(device.parts());
  for (std::int64_t batch = 0; batch < 6; ++batch)
    step(*prefetch, device, batch,
         "next() with one buffer (and one slot): what must be asked for before it looks for a batch");
  expect_no_conflict(device, "with one buffer");
}

void check_end(const Part& part) {
  for (const std::int64_t batches : {5, 3, 1, 0}) {
    TracedDevice device(batches, kManySlots, 3);
    const auto prefetch = part.make_prefetch(device.parts());
    for (std::int64_t batch = 0; batch < batches; ++batch)
      step(*prefetch, device, batch, "what still lies on the device when take() gives nothing more");
    for (int again = 0; again < 2; ++again) {
      const std::span<const std::byte> batch = prefetch->next();
      expect(batch.empty(),
             {fmt::format("nothing behind the last of {}", count(static_cast<std::size_t>(batches), "batch")),
              words(batch), "what upload() does when take() gives an empty slot"});
    }
    expect_no_conflict(device, "at the end");
  }
}

void check_stop(const Part& part) {
  struct Moment {
    std::int64_t batches, steps;
    const char* when;
  };
  const Moment moments[] = {{20, 0, "destroyed before the first next()"},
                            {20, 3, "destroyed in the middle"},
                            {1, 1, "destroyed when all batches were handed out"}};
  for (const Moment& moment : moments) {
    TracedDevice device(moment.batches, kManySlots, 3);
    {
      const auto prefetch = part.make_prefetch(device.parts());
      for (std::int64_t batch = 0; batch < moment.steps; ++batch) prefetch->next();
    }
    device.end();
    if (const Conflict* const found = find(device, DeedKind::upload, DeedKind::end))
      not_yet({fmt::format("no upload on its way once it is gone, {}", moment.when),
               fmt::format("that of batch {}, whose memory goes now", found->first.batch),
               "the destructor: the one place where the host has to wait, and for all uploads"});
  }
}

/// A ring whose slots a thread fills: each byte of a batch is its number.
class FilledRing final : public SlotRing {
 public:
  using Slot = std::vector<std::byte>;

  FilledRing(std::int64_t batches, std::size_t slots, std::size_t bytes) : slots_(slots, Slot(bytes)) {
    for (Slot& slot : slots_) free_.push_back({&slot, nullptr});
    thread_ = std::thread([this, batches] { fill(batches); });
  }
  ~FilledRing() override { thread_.join(); }

  std::span<const std::byte> take() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !filled_.empty() || ended_; });
    if (filled_.empty()) return {};
    const Slot* const slot = filled_.front();
    filled_.pop_front();
    return *slot;
  }
  void give_back(std::span<const std::byte> memory, const EventPointer& read) override {
    const auto is_it = [&](const Slot& slot) { return slot.data() == memory.data(); };
    Slot& slot = *std::find_if(slots_.begin(), slots_.end(), is_it);
    const std::scoped_lock lock(mutex_);
    free_.push_back({&slot, read});
    changed_.notify_all();
  }

 private:
  void fill(std::int64_t batches) {
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !free_.empty(); });
      const auto [slot, read] = free_.front();
      free_.pop_front();
      lock.unlock();
      if (read) read->wait_on_host();
      std::fill(slot->begin(), slot->end(), static_cast<std::byte>(batch));
      lock.lock();
      filled_.push_back(slot);
      changed_.notify_all();
    }
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<Slot*, EventPointer>> free_;
  std::deque<const Slot*> filled_;
  bool ended_ = false;
  std::thread thread_;
};

/// The part over real threads.
void check_threads(const Part& part) {
  constexpr std::int64_t kBatches = 100;
  constexpr std::size_t kBytes = 4096;
  std::vector<std::vector<std::byte>> buffers(3, std::vector<std::byte>(kBytes));
  FilledRing ring(kBatches, 2, kBytes);
  std::atomic<std::int64_t> wrong{0};
  std::int64_t handed_out = 0;
  {
    ThreadStream uploads, computes;
    PrefetchParts parts{&ring, &uploads, &computes, {}};
    for (auto& buffer : buffers) parts.buffers.emplace_back(buffer);
    const auto prefetch = part.make_prefetch(parts);
    for (auto batch = prefetch->next(); !batch.empty(); batch = prefetch->next(), ++handed_out)
      computes.ask([batch, wanted = static_cast<std::byte>(handed_out), &wrong] {
        if (std::count(batch.begin(), batch.end(), wanted) != static_cast<std::ptrdiff_t>(kBytes)) ++wrong;
      });
  }
  expect(handed_out == kBatches, {fmt::format("{} batches over threads", kBatches),
                                  fmt::format("{}", handed_out), "when next() gives nothing"});
  expect(wrong == 0, {"each kernel to read its own batch, over threads",
                      fmt::format("{} of {} read something else", wrong.load(), kBatches),
                      "who waits for whom: one wait for each thing that must not be overtaken"});
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"first", exercise::check_first},
                                           {"arrival", exercise::check_arrival},
                                           {"host", exercise::check_host},
                                           {"ahead", exercise::check_ahead},
                                           {"overlap", exercise::check_overlap},
                                           {"buffer", exercise::check_buffer},
                                           {"slot", exercise::check_slot},
                                           {"one_buffer", exercise::check_one_buffer},
                                           {"end", exercise::check_end},
                                           {"stop", exercise::check_stop},
                                           {"threads", exercise::check_threads}});
}

}  // namespace isobar
