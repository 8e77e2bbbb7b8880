#include "data/fillers.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/waiting.h"
#include "kernels/pack.h"

namespace isobar {

std::size_t batch_bytes(const Dataset& dataset, std::int64_t batch_size) {
  const auto fields = static_cast<std::size_t>((1 + dataset.leads()) * batch_size);
  return fields * dataset.shape().values() * sizeof(float);
}

Error of_sample(const Error& error, std::int64_t sample, std::int64_t batch) {
  return {fmt::format("sample {} of batch {}: {}", sample, batch, error.what()), error.where(), error.hint(),
          error.code()};
}

namespace {

/// Runs `body`; its errors get the name of the sample and, where they lack it, the file.
template <typename Body>
void naming_sample(const Dataset& dataset, std::int64_t sample, std::int64_t batch, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    throw of_sample(error, sample, batch);
  } catch (const std::bad_alloc&) {
    throw of_sample({"out of memory", dataset.where(dataset.places(sample).front()),
                     "fewer data.workers, or a smaller train.global_batch", Exit::failed},
                    sample, batch);
  } catch (const std::exception& error) {
    throw of_sample({error.what(), dataset.where(dataset.places(sample).front()), "", Exit::failed}, sample,
                    batch);
  }
}

std::span<float> as_floats(std::span<std::byte> slot) {
  return {reinterpret_cast<float*>(slot.data()), slot.size() / sizeof(float)};
}

class Filler : public SlotFiller {
 public:
  Filler(const Dataset& dataset, const BatchOrder& order, SlotAllocator allocate)
      : dataset_(dataset), order_(order), allocate_(std::move(allocate)) {}

  std::size_t slot_bytes() const override {
    // In any layout a batch has room for fields that nobody shares.
    return batch_bytes(dataset_, order_.batch_size());
  }
  SlotMemory allocate() const override { return allocate_(slot_bytes()); }

 protected:
  const Dataset& dataset() const { return dataset_; }
  const BatchOrder& order() const { return order_; }
  /// Field number `n` of a slot.
  std::span<float> field(std::span<std::byte> slot, std::size_t n) const {
    return as_floats(slot).subspan(n * dataset_.shape().values(), dataset_.shape().values());
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
      naming_sample(dataset(), plan.samples[b], plan.batch, [&] {
        std::vector<std::span<float>> fields;
        for (std::size_t use = b; use < plan.field_of.size(); use += samples)
          fields.push_back(field(slot, use));
        dataset().read_sample(plan.samples[b], fields, cost, stop);
      });
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
    naming_sample(dataset(), plan.sample_of[n], plan.batch, [&] {
      if (layout_ == SlotLayout::raw) return dataset().read_raw(plan.fields[n], field(slot, n), cost, stop);
      std::vector<float*> outs;
      for (std::size_t use = 0; use < plan.field_of.size(); ++use) {
        if (plan.field_of[use] == part) outs.push_back(field(slot, use).data());
      }
      dataset().read_normalised(plan.fields[n], outs, cost, stop);
    });
  }

 private:
  bool share_;
  SlotLayout layout_;
};

/// Fields in two bytes a value.
class PackedFiller : public FieldFiller {
 public:
  PackedFiller(const Dataset& dataset, const BatchOrder& order, bool share, SlotLayout layout,
               SlotAllocator allocate)
      : FieldFiller(dataset, order, share, layout, std::move(allocate)), layout_(layout) {}

  std::size_t slot_bytes() const override { return FieldFiller::slot_bytes() / 2; }
  void fill(const BatchPlan& plan, std::int64_t part, std::span<std::byte> slot, FillCost& cost,
            const std::stop_token& stop) const override {
    thread_local std::vector<float> values;  // kept: new memory costs more than what is done with it
    values.resize(dataset().shape().values());
    const auto n = static_cast<std::size_t>(part);
    naming_sample(dataset(), plan.sample_of[n], plan.batch, [&] {
      float* const out = values.data();
      dataset().read_normalised(plan.fields[n], {&out, 1}, cost, stop);
    });
    if (stop.stop_requested()) return;
    const std::int64_t begin_us = steady_us();
    const std::size_t field_bytes = values.size() * sizeof(std::uint16_t);
    pack(values, slot.subspan(n * field_bytes, field_bytes));
    cost.normalise_us += steady_us() - begin_us;
  }

 private:
  void pack(std::span<const float> values, std::span<std::byte> out) const {
    const auto count = static_cast<std::int64_t>(values.size());  // all finite: they were normalised
    if (layout_ == SlotLayout::f16) {
      pack_f16(values.data(), count, reinterpret_cast<std::uint16_t*>(out.data()));
    } else {
      pack_i16(values.data(), count, reinterpret_cast<std::int16_t*>(out.data()));
    }
  }

  SlotLayout layout_;
};

/// What a batch takes longer to read than its source does.
struct Lateness {
  std::int64_t ms = 0;
  bool of_one_thread = false;  ///< only of the first of the threads that read
};

Lateness lateness_of_fault() {
  const FaultSetting& fault = made_fault();
  const bool one = fault.fault == Fault::slow_worker;
  return {one || fault.fault == Fault::slow_loader ? fault.ms : 0, one};
}

/// Fills what another one fills, and later.
class LateFiller : public SlotFiller {
 public:
  LateFiller(std::shared_ptr<const SlotFiller> filler, const Lateness& lateness)
      : filler_(std::move(filler)), lateness_(lateness) {}

  std::size_t slot_bytes() const override { return filler_->slot_bytes(); }
  SlotMemory allocate() const override { return filler_->allocate(); }
  BatchPlan plan(std::int64_t batch) const override { return filler_->plan(batch); }
  std::int64_t parts(const BatchPlan& plan) const override { return filler_->parts(plan); }
  void fill(const BatchPlan& plan, std::int64_t part, std::span<std::byte> slot, FillCost& cost,
            const std::stop_token& stop) const override {
    if (part == 0 && (!lateness_.of_one_thread || cost.thread == 0)) {
      sleep_until_us(steady_us() + lateness_.ms * 1000, stop);
      cost.read_us += lateness_.ms * 1000;
    }
    filler_->fill(plan, part, slot, cost, stop);
  }

 private:
  std::shared_ptr<const SlotFiller> filler_;
  Lateness lateness_;
};

std::shared_ptr<const SlotFiller> in_its_time(std::shared_ptr<const SlotFiller> filler) {
  const Lateness lateness = lateness_of_fault();
  return lateness.ms == 0 ? filler : std::make_shared<LateFiller>(std::move(filler), lateness);
}

}  // namespace

std::shared_ptr<const SlotFiller> make_sample_filler(const Dataset& dataset, const BatchOrder& order,
                                                     SlotAllocator allocate) {
  return in_its_time(std::make_shared<SampleFiller>(dataset, order, std::move(allocate)));
}

std::shared_ptr<const SlotFiller> make_field_filler(const Dataset& dataset, const BatchOrder& order,
                                                    bool share, SlotLayout layout, SlotAllocator allocate) {
  if (layout == SlotLayout::f16 || layout == SlotLayout::i16) {
    return in_its_time(std::make_shared<PackedFiller>(dataset, order, share, layout, std::move(allocate)));
  }
  return in_its_time(std::make_shared<FieldFiller>(dataset, order, share, layout, std::move(allocate)));
}

}  // namespace isobar
