#include "data/fillers.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "core/fault.h"

namespace isobar {
namespace {

/// What went wrong while `sample` was read, with its name.
Error of_sample(const Error& error, std::int64_t sample, std::int64_t batch) {
  return {fmt::format("sample {} of batch {}: {}", sample, batch, error.what()), error.where(), error.hint(),
          error.code()};
}

std::span<float> as_floats(std::span<std::byte> slot) {
  return {reinterpret_cast<float*>(slot.data()), slot.size() / sizeof(float)};
}

class Filler : public SlotFiller {
 public:
  Filler(const Dataset& dataset, const BatchOrder& order, SlotAllocator allocate)
      : dataset_(dataset), order_(order), allocate_(std::move(allocate)) {}

  std::size_t slot_bytes() const override {
    return 2 * static_cast<std::size_t>(order_.batch_size()) * dataset_.field_values() * sizeof(float);
  }
  SlotMemory allocate() const override { return allocate_(slot_bytes()); }

 protected:
  const Dataset& dataset() const { return dataset_; }
  const BatchOrder& order() const { return order_; }
  /// Field number `n` of a slot.
  std::span<float> field(std::span<std::byte> slot, std::size_t n) const {
    return as_floats(slot).subspan(n * dataset_.field_values(), dataset_.field_values());
  }

 private:
  const Dataset& dataset_;
  BatchOrder order_;
  SlotAllocator allocate_;
};

class SampleFiller : public Filler {
 public:
  using Filler::Filler;

  BatchPlan plan(std::int64_t batch) const override {
    return plan_batch(dataset(), order(), batch, /*share=*/false);
  }
  std::int64_t parts(const BatchPlan&) const override { return 1; }
  void fill(const BatchPlan& plan, std::int64_t, std::span<std::byte> slot, FillCost& cost,
            const std::stop_token& stop) const override {
    const std::size_t samples = plan.samples.size();
    for (std::size_t b = 0; b < samples && !stop.stop_requested(); ++b) {
      try {
        dataset().read_sample(plan.samples[b], field(slot, b), field(slot, samples + b), cost, stop);
      } catch (const Error& error) {
        throw of_sample(error, plan.samples[b], plan.batch);
      }
    }
  }
};

class FieldFiller : public Filler {
 public:
  FieldFiller(const Dataset& dataset, const BatchOrder& order, bool share, SlotLayout layout,
              SlotAllocator allocate)
      : Filler(dataset, order, std::move(allocate)), share_(share), layout_(layout) {}

  BatchPlan plan(std::int64_t batch) const override { return plan_batch(dataset(), order(), batch, share_); }
  std::int64_t parts(const BatchPlan& plan) const override {
    return static_cast<std::int64_t>(plan.fields.size());
  }
  void fill(const BatchPlan& plan, std::int64_t part, std::span<std::byte> slot, FillCost& cost,
            const std::stop_token& stop) const override {
    const auto n = static_cast<std::size_t>(part);
    try {
      if (layout_ == SlotLayout::raw) {
        dataset().read_raw(plan.fields[n], field(slot, n), cost, stop);
      } else {
        std::vector<float*> outs;
        for (std::size_t use = 0; use < plan.field_of.size(); ++use) {
          if (plan.field_of[use] == part) outs.push_back(field(slot, use).data());
        }
        dataset().read_normalised(plan.fields[n], outs, cost, stop);
      }
    } catch (const Error& error) {
      throw of_sample(error, plan.sample_of[n], plan.batch);
    }
  }

 private:
  bool share_;
  SlotLayout layout_;
};

}  // namespace

std::shared_ptr<const SlotFiller> make_sample_filler(const Dataset& dataset, const BatchOrder& order,
                                                     SlotAllocator allocate) {
  return std::make_shared<SampleFiller>(dataset, order, std::move(allocate));
}

std::shared_ptr<const SlotFiller> make_field_filler(const Dataset& dataset, const BatchOrder& order,
                                                    bool share, SlotLayout layout, SlotAllocator allocate) {
  return std::make_shared<FieldFiller>(dataset, order, share, layout, std::move(allocate));
}

}  // namespace isobar
