// ./isobar run 02_workers --mine: its WorkerLoaders read ahead with the learner's queue.
#include <limits>
#include <utility>

#include "02_workers/exercise/part.h"
#include "check/own_part.h"
#include "core/error.h"
#include "data/read_ahead.h"
#include "run/run_plan.h"

using namespace isobar;

namespace {

/// A queue goes to the end of its epoch where reading does not cross it, and not to another place: then it is
/// made anew.
class SlotsOfQueue final : public SlotQueue {
 public:
  SlotsOfQueue(std::shared_ptr<const SlotFiller> filler, const BatchOrder& order,
               const ReadAheadSetting& setting)
      : filler_(std::move(filler)), order_(order), setting_(setting) {}

  FilledSlot take() override {
    if (next_ == end_) queue_.reset();
    if (!queue_) begin();
    FilledSlot slot{.plan = filler_->plan(next_),
                    .memory = queue_->take(),
                    .bytes = filler_->slot_bytes(),
                    .reuse_hook = std::make_shared<std::function<void()>>()};
    ++next_;
    return slot;
  }
  void seek(std::int64_t batch) override {
    queue_.reset();  // what it read ahead is of another place
    next_ = batch;
  }
  ReadAheadCounts counts() const override { return {}; }

 private:
  void begin() {
    end_ = setting_.crosses_epochs ? std::numeric_limits<std::int64_t>::max()
                                   : (order_.epoch_of(next_) + 1) * order_.steps_per_epoch();
    queue_ = own_part_as<exercise::Part>().make_read_ahead(
        [this](std::int64_t batch) { return fill(batch); },
        {.first = next_, .end = end_, .threads = setting_.threads, .ahead = setting_.ahead});
  }

  SlotMemory fill(std::int64_t batch) const {
    const BatchPlan plan = filler_->plan(batch);
    SlotMemory memory = filler_->allocate();
    FillCost cost;
    for (std::int64_t part = 0; part < filler_->parts(plan); ++part)
      filler_->fill(plan, part, {memory.get(), filler_->slot_bytes()}, cost, std::stop_token());
    return memory;
  }

  std::shared_ptr<const SlotFiller> filler_;
  BatchOrder order_;
  ReadAheadSetting setting_;
  std::int64_t next_ = 0;
  std::int64_t end_ = 0;
  std::unique_ptr<exercise::BatchQueue> queue_;
};

const PluggedIn queue(seams::read_ahead,
                      [](std::shared_ptr<const SlotFiller> filler, const BatchOrder& order,
                         const ReadAheadSetting& setting) -> std::unique_ptr<SlotQueue> {
                        return std::make_unique<SlotsOfQueue>(std::move(filler), order, setting);
                      });
const PluggedIn check(seams::check_run, [](const Config& config, c10::Device) {
  if (config.data.workers == 0)
    throw Error("your queue has nothing to do: no thread reads ahead", "data.workers = 0",
                "--set data.workers=2");
});

}  // namespace
