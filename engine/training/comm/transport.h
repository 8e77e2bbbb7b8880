#pragma once
// What a way of moving tensors between ranks must do. Users hold a Comm (comm/comm.h), which puts numbering,
// checks, time-outs, the emulated link and telemetry around one.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ring/collective_step.h"

namespace isobar {

enum class Reduce {
  sum,
  mean,  ///< the sum, then divided by the number of ranks: so that all transports agree to the bit
  max
};

/// A collective under way. Whoever started it keeps this until it is done.
class Pending {
 public:
  virtual ~Pending() = default;
  virtual bool done() = 0;
  /// Returns true when it is done, false when `timeout_us` passed first. A failure on the way is thrown
  /// with the transport's text: Comm makes an Error with ranks in it.
  virtual bool wait(std::int64_t timeout_us) = 0;
  /// When it was done, on the steady clock (core/clock.h); 0 while it is not, or where that is not known.
  virtual std::int64_t end_us() const { return 0; }
  /// What was done step by step, once it is done; nothing where the transport does not know.
  virtual std::vector<CollectiveStep> steps() const { return {}; }
};

/// Tensors are contiguous, on the transport's device, and equal in shape and type on all ranks, but for an
/// all-to-all, whose sizes may differ. Collectives
/// are started in the same order on all ranks and done in that order; all return at once.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string name() const = 0;  ///< "gloo", "nccl", "ring"
  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual std::unique_ptr<Pending> all_reduce(const at::Tensor& tensor, Reduce reduce) = 0;
  virtual std::unique_ptr<Pending> broadcast(const at::Tensor& tensor, int root) = 0;
  /// `out` holds the `in` of all ranks one behind the other.
  virtual std::unique_ptr<Pending> all_gather(const at::Tensor& out, const at::Tensor& in) = 0;
  /// `out` is this rank's part of the reduced `in`.
  virtual std::unique_ptr<Pending> reduce_scatter(const at::Tensor& out, const at::Tensor& in,
                                                  Reduce reduce) = 0;
  /// Flat `in` has sends[r] elements for each rank r, one behind the other, and `out` gets receives[r] of it;
  /// zeros allowed. The own ones are copied.
  virtual std::unique_ptr<Pending> all_to_all(const at::Tensor& out, const at::Tensor& in,
                                              const std::vector<std::int64_t>& receives,
                                              const std::vector<std::int64_t>& sends) = 0;

  /// Whether `Pending::wait` returns at once and makes the current stream of the device wait instead.
  virtual bool blocks_stream() const { return false; }

  /// Ends what is under way and frees waiting threads, here and, where that can be, elsewhere.
  virtual void abort() noexcept = 0;

  /// A sentence that a person should read at the end, "" = nothing.
  virtual std::string note() const { return ""; }
};

/// A group of one: everything is done at once.
std::unique_ptr<Transport> make_solo_transport();

}  // namespace isobar
