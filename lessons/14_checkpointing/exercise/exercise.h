#pragma once
// What is given and what is promised in the exercise of lesson 14. You write my/14_recompute.cpp.
#include <cstdint>
#include <memory>
#include <vector>

namespace isobar::exercise {

/// Given: activations, or their gradients. Copies of this are the same memory, which is given back with the
/// last of them.
struct Activation {
  std::shared_ptr<void> memory = {};  ///< null = none
};

/// Given: where the generator of random numbers stands. Copies are cheap.
struct RandomState {
  std::shared_ptr<const void> held = {};
};

/// Given: whether autocast is at work, and in which type it computes.
struct AutocastState {
  std::shared_ptr<const void> held = {};
};

/// Given: a forward pass that was recorded. Holds what backward needs of it until it is destroyed.
class RecordedPass {
 public:
  virtual ~RecordedPass() = default;
  /// From the gradient of the pass's output to that of its input, which it returns. Adds the gradients of
  /// weights to those that are there. Once.
  virtual Activation backward(const Activation& of_output) = 0;
};

/// Given: a run of blocks, and what their forward passes depend on beside input and weights. A pass draws
/// random numbers for dropout, and leaves the generator behind them.
class BlockRun {
 public:
  virtual ~BlockRun() = default;
  /// Keeps nothing: what the blocks have in between is given back at once.
  virtual Activation forward(const Activation& input) = 0;
  /// A forward pass that can be gone back through.
  virtual std::unique_ptr<RecordedPass> record(const Activation& input) = 0;

  virtual RandomState random_state() const = 0;
  virtual void set_random_state(const RandomState& state) = 0;
  virtual AutocastState autocast() const = 0;
  virtual void set_autocast(const AutocastState& state) = 0;
};

/// One pass of a run, forward and back. Passes of several micro-batches may be under way at once.
class CheckpointedPass {
 public:
  virtual ~CheckpointedPass() = default;
  /// The run's output. From its end to `backward` the pass holds `input` and no other activation.
  virtual Activation forward(const Activation& input) = 0;
  /// The gradient of `input`; those of the weights are added by the run. The forward pass is done again, with
  /// the random numbers and in the types of the first one. Generator and autocast are left as they were when
  /// `backward` was called, and no activation is held any more.
  virtual Activation backward(const Activation& of_output) = 0;
};

/// Blocks [first, first + count) of a model.
struct BlockRange {
  int first = 0;
  int count = 0;
};

}  // namespace isobar::exercise

namespace isobar::mine {

// You promise:

/// All blocks of a model in runs of `every` >= 1 blocks; the last run may be shorter.
std::vector<exercise::BlockRange> runs_of(int blocks, int every);

/// Most bytes of activations that are held at once in backward, over runs of `every` blocks. Backward goes
/// from the last run to the first: each is done again and records `block_bytes` for each of its blocks. Of
/// every run the input is held, `input_bytes`, from forward on until backward is through with it.
std::int64_t peak_bytes(int blocks, int every, std::int64_t input_bytes, std::int64_t block_bytes);

/// The `every` with the least peak_bytes; of several the smallest, since it redoes no more and holds less for
/// most of the time.
int best_every(int blocks, std::int64_t input_bytes, std::int64_t block_bytes);

/// `run` outlives what is made.
std::unique_ptr<exercise::CheckpointedPass> make_checkpointed_pass(exercise::BlockRun& run);

/// By what the mean loss of each micro-batch is multiplied, so that gradients that add up over all of them
/// are those of the mean loss of the whole batch. `samples`: how many each micro-batch has, at least 1.
std::vector<double> loss_factors(const std::vector<int>& samples);

}  // namespace isobar::mine
