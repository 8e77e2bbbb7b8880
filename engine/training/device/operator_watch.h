#pragma once
// What a step really does: every operator of it that touches data, with the bytes it moves, the types it gets
// and gives, its time, and the module it runs in. Watching changes no result, but it takes time, so one step
// of the warm-up is watched and no other.
//
// What counts: an operator that reads or writes values itself. Left out are views and whatever only makes or
// describes tensors (no result of its own, or one that lies in an input's memory); operators that are made of
// others (linear, matmul, reshape), whose parts are seen; one whose work was done by an operator that it
// called: for GEMM, attention and norms one of the same class (convolution calls mkldnn_convolution), for all
// others one that wrote the same memory (clone calls copy_); and what handles single values in host memory.
// Bytes: each tensor read once and each written once, a broadcast one with the values that it has, none with
// more than its memory; scratch memory inside an operator is not seen, and what lies in a cache moves all the
// same. Time is an operator's own, without those it called: on a CPU from the host's clock, on a CUDA device
// between events on its stream, which for small operators is largely the time of launching them.
#include <c10/core/Device.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/operator_record.h"

namespace isobar {

class EventPool;
class OperatorRecorder;
struct OperatorFrame;

/// Sees the operators of all threads from its construction to `stop`. One lives at a time: a second one is an
/// Error (exit code 1).
class OperatorWatch {
 public:
  explicit OperatorWatch(c10::Device device);
  /// Watches by the events of a device instead of the host's clock.
  explicit OperatorWatch(std::unique_ptr<EventPool> events);
  ~OperatorWatch();
  OperatorWatch(const OperatorWatch&) = delete;
  OperatorWatch& operator=(const OperatorWatch&) = delete;

  /// What operators outside of all modules belong to from now on; a name that lasts, such as a literal.
  void enter(const char* stage);
  void stop();

  /// What was seen; after `stop`, once. Waits for a CUDA device.
  OperatorRecord take();

 private:
  std::shared_ptr<OperatorRecorder> recorder_;
  std::uint64_t callback_ = 0;  ///< libtorch's handle of it, 0 = taken back
};

/// Operators that this thread calls while one lives belong to the module `name`, or to the innermost of
/// several. `name` is a literal, or outlives it otherwise. Costs next to nothing.
class ModuleScope {
 public:
  explicit ModuleScope(std::string_view name);
  ~ModuleScope();
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  std::string_view outer_;
};

/// The innermost one of this thread, "" = none. Valid while that scope lives.
std::string_view current_module();

/// Around a kernel of our own, which libtorch does not know of: counted as one operator of this name, with
/// the class that class_of_operator gives it. Operators called inside count by themselves, as ever. Does
/// nothing when nobody watches.
class KernelScope {
 public:
  /// `type`: of the values that it reads and writes mostly.
  KernelScope(const char* name, std::int64_t moved_bytes, c10::ScalarType type);
  ~KernelScope();
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;

 private:
  std::unique_ptr<OperatorFrame> frame_;  ///< null when nobody watches
};

}  // namespace isobar
