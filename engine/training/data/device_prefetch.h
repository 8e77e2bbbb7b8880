#pragma once
// Lesson 03: the step from the ring to the device. A thread of its own brings each filled slot there on a
// stream of its own, so that the next batch lies on the device before it is asked for.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "core/seam.h"
#include "data/loader.h"
#include "data/ring_loader.h"
#include "data/uploader.h"

namespace isobar {

namespace seams {

/// Hands out the batches of a ring where nothing is to be uploaded: the ring itself, which outlives it.
extern constinit Seam<std::shared_ptr<Loader>(RingLoader& ring)> host_prefetch;

}  // namespace seams

struct PrefetchSetting {
  std::int64_t ahead = 2;  ///< batches that lie on the device, or are on their way, before they are asked for
  bool own_thread = true;  ///< false: `next` asks for the upload itself
  bool crosses_epochs = true;  ///< false: nothing of an epoch is taken before its first batch is asked for
  bool awaits_upload = true;   ///< what uses a batch runs behind its arrival
};

class DevicePrefetch : public Loader {
 public:
  /// `ring` outlives it, and gives its batches to nobody else. On a CUDA device with loader.copy_stream
  /// uploads run beside the kernels, and `next` orders the current stream behind them without waiting;
  /// without it they are asked for by `next`, on the current stream. On a CPU there is nothing to upload:
  /// batches are those of the ring. Error (exit code 2) for a loader.upload_type other than f32 there.
  DevicePrefetch(RingLoader& ring, const LoaderConfig& loader);
  DevicePrefetch(RingLoader& ring, std::unique_ptr<Uploader> uploader, const PrefetchSetting& setting);
  /// Ends what is read and uploaded: at most as long as one read of the file system takes.
  ~DevicePrefetch() override;

  std::string text() const override;

 private:
  /// A batch that was asked for, or what went wrong instead of it.
  struct Item {
    std::int64_t batch = 0;
    std::shared_ptr<Arrival> arrival;
    std::exception_ptr failure;
  };
  struct Unsettled {
    BatchPlan plan;
    std::shared_ptr<Arrival> arrival;
  };

  /// `ready` counts batches that had arrived on the device; where the loop asks for uploads itself, those of
  /// the ring.
  LoaderCounts reading_counts() const override;
  Batch load(std::int64_t position) override;
  void move(std::int64_t position) override;

  void work();
  std::optional<std::int64_t> next_to_upload();
  /// Takes the next slot and asks for its upload; false when that failed or was stopped.
  bool upload(std::int64_t batch);
  void wait_until_here(const Arrival& arrival) const;
  /// Without a thread: what has arrived meanwhile.
  void settle_arrived();
  void settle(const Unsettled& done);
  /// Batches before `batch` stay; then `failure` comes, and nothing after it.
  void fail_from(std::int64_t batch, std::exception_ptr failure);
  void start_thread();
  void stop_thread();
  void upload_now(std::int64_t batch);

  RingLoader& ring_;
  std::unique_ptr<Uploader> uploader_;  ///< null: batches are wanted where the ring has them
  std::shared_ptr<Loader> on_host_;     ///< without an uploader
  PrefetchSetting setting_;
  std::deque<Unsettled> unsettled_;
  std::thread thread_;
  std::atomic<bool> stopping_ = false;

  mutable std::mutex mutex_;  ///< guards all below
  std::condition_variable room_came_;
  std::condition_variable item_came_;
  std::deque<Item> items_;
  std::int64_t next_ = 0;   ///< what is uploaded next
  std::int64_t asked_ = 0;  ///< what `next` was last asked for
  LoaderCounts counts_;
};

}  // namespace isobar
