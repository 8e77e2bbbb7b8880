#pragma once
// The bookkeeping behind OperatorWatch: open calls as frames of their thread, and their sums.
#include <ATen/record_function.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "device/event_pool.h"
#include "device/operator_facts.h"
#include "device/operator_record.h"

namespace isobar {

/// A tensor as an operator sees it. The pointers are only compared.
struct Operand {
  const void* tensor = nullptr;
  const void* storage = nullptr;
  std::int64_t bytes = 0;
  c10::ScalarType type = c10::ScalarType::Undefined;
  bool host_scalar = false;  ///< a single value in host memory
  bool written = false;      ///< an argument that is changed in place
  bool read = true;
};

class OperatorRecorder;

/// Memory that was written: freed memory is given out again, so its size belongs to its name.
using WrittenMemory = std::set<std::pair<const void*, std::int64_t>>;

/// An open call. Frames of one thread stack up.
struct OperatorFrame : at::ObserverContext {
  std::shared_ptr<OperatorRecorder> recorder;  ///< lives as long as its calls
  std::shared_ptr<const OperatorFacts> facts;
  std::vector<Operand> inputs;
  std::size_t entry = 0;
  bool in_attention = false;
  std::array<bool, kOperatorClasses.size()> counted_below{};
  WrittenMemory written_below;
  OperatorFrame* outer = nullptr;
};

class OperatorRecorder {
 public:
  /// `events` of a CUDA device; null for a CPU.
  explicit OperatorRecorder(std::unique_ptr<EventPool> events);
  ~OperatorRecorder();
  OperatorRecorder(const OperatorRecorder&) = delete;
  OperatorRecorder& operator=(const OperatorRecorder&) = delete;

  /// A call begins inside the frame `outer` (null: in none).
  std::unique_ptr<OperatorFrame> begin(const at::RecordFunction& call, OperatorFrame* outer);
  std::unique_ptr<OperatorFrame> begin_kernel(const char* name, std::int64_t bytes, c10::ScalarType type,
                                              OperatorFrame* outer);
  /// It ends; `module` is the one of its thread, empty outside of all.
  void end(OperatorFrame& frame, const std::vector<c10::IValue>& outputs, std::string_view module);
  void end_kernel(OperatorFrame& frame, std::string_view module);
  void enter(const char* stage) { stage_.store(stage); }

  /// Waits for a CUDA device. Called once, when no call is open.
  OperatorRecord take();

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// A point in time: on the host's clock, or an event that the device passes.
  struct Mark {
    std::int64_t at_ns = 0;
    CUevent_st* event = nullptr;
  };
  struct Entry {
    Mark begin, end;
    std::size_t outer = kNone;
    std::size_t row = kNone;  ///< row of a call that counted
  };
  using RowKey = std::tuple<std::string, std::string, std::string, std::string, OperatorClass>;

  std::shared_ptr<const OperatorFacts> known_facts(const at::RecordFunction& call);
  void open(OperatorFrame& frame, std::shared_ptr<const OperatorFacts> facts, OperatorFrame* outer);
  void begin_entry(OperatorFrame& frame);
  /// `written`: the tensors that it gave or changed, the first of which names its output type.
  void count(const OperatorFrame& frame, std::int64_t bytes, const std::vector<Operand>& written,
             std::string_view module);
  Mark mark();
  double between_us(const Mark& begin, const Mark& end);

  std::mutex mutex_;
  std::unique_ptr<EventPool> events_;
  std::atomic<const char*> stage_ = "step";
  std::unordered_map<std::string, std::shared_ptr<const OperatorFacts>> facts_;
  std::unordered_set<std::int64_t> attention_nodes_;  ///< sequence numbers: their backward is attention too
  std::vector<Entry> entries_;
  std::map<RowKey, std::size_t> places_;
  OperatorRecord record_;
};

}  // namespace isobar
