#include "device/operator_watch.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "device/operator_recorder.h"
#include "device/stream.h"

namespace isobar {
namespace {

std::mutex current_mutex;
std::shared_ptr<OperatorRecorder> current_recorder;
std::atomic<bool> watching = false;

thread_local OperatorFrame* innermost_call = nullptr;
thread_local std::string_view innermost_module;

/// Null when nobody watches.
std::shared_ptr<OperatorRecorder> current() {
  if (!watching.load(std::memory_order_relaxed)) return nullptr;
  const std::scoped_lock lock(current_mutex);
  return current_recorder;
}

std::unique_ptr<at::ObserverContext> call_begins(const at::RecordFunction& call) {
  const std::shared_ptr<OperatorRecorder> recorder = current();
  if (!recorder) return nullptr;
  std::unique_ptr<OperatorFrame> frame = recorder->begin(call, innermost_call);
  frame->recorder = recorder;
  innermost_call = frame.get();
  return frame;
}

void call_ends(const at::RecordFunction& call, at::ObserverContext* context) {
  if (context == nullptr) return;
  auto& frame = static_cast<OperatorFrame&>(*context);
  innermost_call = frame.outer;
  frame.recorder->end(frame, call.outputs(), innermost_module);
}

}  // namespace

OperatorWatch::OperatorWatch(c10::Device device)
    : OperatorWatch(has_streams(device) ? std::make_unique<EventPool>(device) : nullptr) {}

OperatorWatch::OperatorWatch(std::unique_ptr<EventPool> events)
    : recorder_(std::make_shared<OperatorRecorder>(std::move(events))) {
  {
    const std::scoped_lock lock(current_mutex);
    if (current_recorder) throw Error("operators are watched already", "OperatorWatch", "", Exit::failed);
    current_recorder = recorder_;
  }
  watching = true;
  callback_ =
      at::addGlobalCallback(at::RecordFunctionCallback(call_begins, call_ends)
                                .needsInputs(true)
                                .needsOutputs(true)
                                .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

OperatorWatch::~OperatorWatch() { stop(); }

void OperatorWatch::enter(const char* stage) { recorder_->enter(stage); }

void OperatorWatch::stop() {
  if (callback_ == 0) return;
  at::removeCallback(std::exchange(callback_, 0));
  watching = false;
  const std::scoped_lock lock(current_mutex);
  current_recorder = nullptr;
}

OperatorRecord OperatorWatch::take() { return recorder_->take(); }

ModuleScope::ModuleScope(std::string_view name) : outer_(innermost_module) { innermost_module = name; }

ModuleScope::~ModuleScope() { innermost_module = outer_; }

std::string_view current_module() { return innermost_module; }

KernelScope::KernelScope(const char* name, std::int64_t moved_bytes, c10::ScalarType type) {
  const std::shared_ptr<OperatorRecorder> recorder = current();
  if (!recorder) return;
  frame_ = recorder->begin_kernel(name, moved_bytes, type, innermost_call);
  frame_->recorder = recorder;
  innermost_call = frame_.get();
}

KernelScope::~KernelScope() {
  if (!frame_) return;
  innermost_call = frame_->outer;
  frame_->recorder->end_kernel(*frame_, innermost_module);
}

}  // namespace isobar
