#pragma once
// A run of blocks in plain numbers: block i makes x + w_i x m of x, where m is 0 or 2 by dropout. It counts
// activations that are held and passes that are made.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "14_checkpointing/exercise/exercise.h"
#include "check/check.h"

namespace isobar::exercise {

using Numbers = std::vector<double>;

/// The types that autocast computes in here: activations are rounded to 1/64 where it is at work.
enum class CastType { off, bits_16 };

/// What all runs of a process share.
struct RunSurroundings {
  std::int64_t drawn = 0;  ///< random numbers
  CastType type = CastType::off;
  bool drops = false;      ///< dropout is at work
  int held = 0;            ///< activations that runs made or were given
  int most_held = 0;       ///< since it was last set
  Numbers gradients = {};  ///< each block has one weight; added up
};

struct HeldNumbers {
  HeldNumbers(RunSurroundings& in, Numbers of) : values(std::move(of)), around(in) {
    around.most_held = std::max(around.most_held, ++around.held);
  }
  ~HeldNumbers() { --around.held; }
  HeldNumbers(const HeldNumbers&) = delete;

  Numbers values;
  RunSurroundings& around;
};

inline Activation activation(RunSurroundings& around, Numbers values) {
  return {std::make_shared<HeldNumbers>(around, std::move(values))};
}

inline const Numbers& numbers_of(const Activation& of, const char* what) {
  expect(of.memory != nullptr, {fmt::format("{} to be given an activation", what), "none (null)",
                                "what is handed over, and whether it is still held"});
  return static_cast<const HeldNumbers*>(of.memory.get())->values;
}

class WatchedRun final : public BlockRun {
 public:
  /// Blocks [first, first + weights.size()) of the model.
  WatchedRun(RunSurroundings& around, Numbers weights, std::size_t first = 0)
      : around_(around), weights_(std::move(weights)), first_(first) {
    around_.gradients.resize(std::max(around_.gradients.size(), first_ + weights_.size()));
  }

  Activation forward(const Activation& input) override {
    ++forwards;
    Activation x = input;
    for (const double weight : weights_) x = block(weight, numbers_of(x, "forward()")).output;
    return x;
  }

  std::unique_ptr<RecordedPass> record(const Activation& input) override {
    ++records;
    auto out = std::make_unique<Recorded>(*this);
    Activation x = input;
    for (const double weight : weights_) {
      Step step = block(weight, numbers_of(x, "record()"));
      out->inputs.push_back(std::exchange(x, step.output));
      out->masks.push_back(std::move(step.mask));
    }
    out->output = x;  // what stands behind the run has kept it
    return out;
  }

  RandomState random_state() const override { return {std::make_shared<std::int64_t>(around_.drawn)}; }
  void set_random_state(const RandomState& state) override {
    expect(state.held != nullptr, {"set_random_state() with a state that random_state() gave", "an empty one",
                                   "which state is set, and where it was read"});
    around_.drawn = *static_cast<const std::int64_t*>(state.held.get());
  }
  AutocastState autocast() const override { return {std::make_shared<CastType>(around_.type)}; }
  void set_autocast(const AutocastState& state) override {
    expect(state.held != nullptr, {"set_autocast() with a state that autocast() gave", "an empty one",
                                   "which state is set, and where it was read"});
    around_.type = *static_cast<const CastType*>(state.held.get());
  }

  int forwards = 0, records = 0;

 private:
  struct Step {
    Activation output;
    Numbers mask;
  };

  struct Recorded final : RecordedPass {
    explicit Recorded(WatchedRun& of) : run(of) {}
    Activation backward(const Activation& of_output) override {
      expect(!std::exchange(was_asked, true),
             {"one backward() of a recorded pass", "a second one", "how often gradients are asked for"});
      Numbers gradient = numbers_of(of_output, "backward()");
      for (std::size_t i = run.weights_.size(); i-- > 0;) {
        const Numbers& x = numbers_of(inputs[i], "backward()");
        for (std::size_t at = 0; at < x.size(); ++at) {
          run.around_.gradients[run.first_ + i] += gradient[at] * x[at] * masks[i][at];
          gradient[at] *= 1 + run.weights_[i] * masks[i][at];
        }
      }
      return activation(run.around_, std::move(gradient));
    }

    WatchedRun& run;
    std::vector<Activation> inputs;
    std::vector<Numbers> masks;
    Activation output;
    bool was_asked = false;
  };

  Step block(double weight, const Numbers& x) {
    Numbers y, mask;
    for (const double value : x) {
      mask.push_back(around_.drops ? 2 * bit(around_.drawn++) : 1);
      const double exact = value + weight * value * mask.back();
      y.push_back(around_.type == CastType::off ? exact : std::round(64 * exact) / 64);
    }
    return {activation(around_, std::move(y)), std::move(mask)};
  }

  /// Random number `at`, 0 or 1.
  static int bit(std::int64_t at) {
    auto mixed = static_cast<std::uint64_t>(at + 1) * 0x9e3779b97f4a7c15ULL;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    return static_cast<int>((mixed ^ (mixed >> 31)) >> 63);
  }

  RunSurroundings& around_;
  Numbers weights_;
  std::size_t first_;
};

}  // namespace isobar::exercise
