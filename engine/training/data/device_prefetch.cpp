#include "data/device_prefetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/waiting.h"
#include "data/cuda_uploader.h"
#include "device/stream.h"

namespace isobar {
namespace {

std::unique_ptr<Uploader> uploader_for(const RingLoader& ring, const LoaderConfig& loader) {
  const c10::Device device = ring.device();
  if (device.is_cpu() && loader.upload_type != UploadType::f32) {
    throw Error("batches are made smaller for the way to a device, and on a CPU they go nowhere",
                std::string("loader.upload_type = \"") + name_of(loader.upload_type) + "\"",
                "loader.upload_type=f32, or a CUDA device");
  }
  if (device.is_cpu()) return nullptr;
  std::optional<c10::Stream> stream;
  if (loader.copy_stream) {
    stream = has_fault(Fault::default_stream_copy) ? current_stream(device)
                                                   : side_stream(device, /*high_priority=*/true);
  }
  return make_cuda_uploader(ring.dataset(), ring.batch_size(), ring.layout(), device, stream, ring.spans());
}

/// A batch that was lost on the way must not shift those behind it.
void check_number(std::int64_t batch, std::int64_t due) {
  if (batch == due) return;
  throw Error(fmt::format("batch {} came, and batch {} is due", batch, due), "the loader", "", Exit::failed);
}

/// The device found values that are not finite: reads the fields once more to name where.
[[noreturn]] void refuse_values(const Dataset& dataset, const BatchPlan& plan, std::int64_t count) {
  std::vector<float> field(dataset.shape().values());
  FillCost unused;
  for (std::size_t n = 0; n < plan.fields.size(); ++n) {
    dataset.read_raw(plan.fields[n], field, unused);
    try {
      dataset.normalise_field(plan.fields[n], field, unused);
    } catch (const Error& error) {
      throw of_sample(error, plan.sample_of[n], plan.batch);
    }
  }
  throw Error(
      fmt::format("{} values were not finite numbers on the device, and all are in their files", count),
      fmt::format("batch {}", plan.batch), "the same run again; if it comes back, the device is at fault",
      Exit::failed);
}

}  // namespace

constinit decltype(seams::host_prefetch) seams::host_prefetch{
    [](RingLoader& ring) { return std::shared_ptr<Loader>(std::shared_ptr<void>(), &ring); }};

DevicePrefetch::DevicePrefetch(RingLoader& ring, const LoaderConfig& loader)
    : DevicePrefetch(ring, uploader_for(ring, loader),
                     {.own_thread = loader.copy_stream,
                      .crosses_epochs = ring.crosses_epochs(),
                      .awaits_upload = !has_fault(Fault::no_event)}) {}

DevicePrefetch::DevicePrefetch(RingLoader& ring, std::unique_ptr<Uploader> uploader,
                               const PrefetchSetting& setting)
    : Loader(ring.order(), ring.dataset()),
      ring_(ring),
      uploader_(std::move(uploader)),
      on_host_(uploader_ ? nullptr : seams::host_prefetch(ring)),
      setting_(setting) {}

DevicePrefetch::~DevicePrefetch() {
  if (!uploader_) return;
  ring_.stop();
  stop_thread();
  uploader_->finish();
}

LoaderCounts DevicePrefetch::reading_counts() const {
  LoaderCounts counts = ring_.counts();
  if (!uploader_) return counts;
  const std::scoped_lock lock(mutex_);
  counts.cpu_us += counts_.cpu_us;
  if (!setting_.own_thread) return counts;  // batches lie ready in the ring
  counts.ready = counts_.ready;
  counts.slots = setting_.ahead;
  return counts;
}

std::string DevicePrefetch::text() const {
  if (!uploader_) return on_host_->text();
  if (!setting_.own_thread) return ring_.text() + "; each batch is uploaded when it is asked for";
  return fmt::format("{}; uploads run beside the kernels, {} batches ahead", ring_.text(), setting_.ahead);
}

void DevicePrefetch::stop_thread() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  room_came_.notify_all();
  if (thread_.joinable()) thread_.join();
  stopping_ = false;
}

void DevicePrefetch::move(std::int64_t position) {
  if (!uploader_) return on_host_->seek(position);
  stop_thread();
  unsettled_.clear();
  items_.clear();
  next_ = asked_ = position;
  ring_.seek(position);
}

void DevicePrefetch::work() {
  std::int64_t cpu_us = thread_cpu_us();
  while (const std::optional<std::int64_t> batch = next_to_upload()) {
    if (!upload(*batch)) return;
    const std::int64_t now_us = thread_cpu_us();
    const std::scoped_lock lock(mutex_);
    counts_.cpu_us += now_us - cpu_us;
    cpu_us = now_us;
  }
}

std::optional<std::int64_t> DevicePrefetch::next_to_upload() {
  std::unique_lock lock(mutex_);
  const auto has_room = [this] {
    const bool in_epoch = setting_.crosses_epochs || order().epoch_of(next_) <= order().epoch_of(asked_);
    return in_epoch && static_cast<std::int64_t>(items_.size()) < setting_.ahead;
  };
  wait_until(lock, room_came_, kNever_us, [&] { return stopping_ || has_room(); });
  if (stopping_) return std::nullopt;
  return next_++;
}

bool DevicePrefetch::upload(std::int64_t batch) {
  try {
    const FilledSlot slot = ring_.take();
    check_number(slot.plan.batch, batch);
    const Unsettled started = {slot.plan, uploader_->start(slot)};
    {
      const std::scoped_lock lock(mutex_);
      items_.push_back({batch, started.arrival, nullptr});
    }
    item_came_.notify_one();
    if (!setting_.own_thread) {
      unsettled_.push_back(started);
      return true;
    }
    // The slot is kept until the device has read it: a thread that got it back now could only wait for that.
    wait_until_here(*started.arrival);
    if (stopping_) return false;
    settle(started);
  } catch (...) {
    fail_from(batch, std::current_exception());
    return false;
  }
  return true;
}

void DevicePrefetch::wait_until_here(const Arrival& arrival) const {
  while (!stopping_ && !arrival.here()) pause_us(kEventPause_us);
}

void DevicePrefetch::settle_arrived() {
  while (!unsettled_.empty() && unsettled_.front().arrival->here()) {
    const Unsettled done = std::move(unsettled_.front());
    unsettled_.pop_front();
    settle(done);
  }
}

void DevicePrefetch::settle(const Unsettled& done) {
  const std::int64_t bad = done.arrival->settle();
  if (bad > 0) refuse_values(ring_.dataset(), done.plan, bad);
}

void DevicePrefetch::fail_from(std::int64_t batch, std::exception_ptr failure) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(items_, [batch](const Item& item) { return item.batch >= batch; });
  items_.push_back({batch, nullptr, std::move(failure)});
  item_came_.notify_one();
}

void DevicePrefetch::start_thread() {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    throw Error("the thread that uploads cannot be started: " + error.code().message(), "the loader",
                "loader.copy_stream=false needs none", Exit::failed);
  }
}

void DevicePrefetch::upload_now(std::int64_t batch) {
  try {
    settle_arrived();
  } catch (...) {
    return fail_from(batch, std::current_exception());
  }
  upload(batch);
}

Batch DevicePrefetch::load(std::int64_t position) {
  if (!uploader_) return on_host_->next();
  std::unique_lock lock(mutex_);
  asked_ = position;
  counts_.ready = std::count_if(items_.begin(), items_.end(),
                                [](const Item& item) { return item.arrival && item.arrival->here(); });
  lock.unlock();
  if (setting_.own_thread) {
    room_came_.notify_one();
    if (!thread_.joinable()) start_thread();
  } else if (items_.empty()) {
    upload_now(position);
  }
  lock.lock();
  wait_until(lock, item_came_, kNever_us, [this] { return !items_.empty(); });
  if (items_.front().failure) std::rethrow_exception(items_.front().failure);
  const Item item = std::move(items_.front());
  items_.pop_front();
  lock.unlock();
  room_came_.notify_one();
  check_number(item.batch, position);
  item.arrival->hand_over(setting_.awaits_upload);
  return as_batch(position, std::exchange(item.arrival->fields, {}));
}

}  // namespace isobar
