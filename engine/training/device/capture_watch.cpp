#include "device/capture_watch.h"

#include <ATen/record_function.h>

#include <exception>
#include <mutex>

#include "core/text.h"

namespace isobar {
namespace {

// Callbacks are plain functions: what they know is here.
std::mutex mutex;
std::string first_failed;
std::string last_begun;

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& function) {
  const std::lock_guard lock(mutex);
  last_begun = function.name();
  return nullptr;
}

void on_end(const at::RecordFunction& function, at::ObserverContext*) {
  if (std::uncaught_exceptions() == 0) return;  // of this thread: the operation is being left by an error
  const std::lock_guard lock(mutex);
  if (first_failed.empty()) first_failed = function.name();
}

}  // namespace

CaptureWatch::CaptureWatch() {
  {
    const std::lock_guard lock(mutex);
    first_failed.clear();
    last_begun.clear();
  }
  at::RecordFunctionCallback callback(on_begin, on_end);
  callback.scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION});
  handle_ = at::addGlobalCallback(callback);
}

CaptureWatch::~CaptureWatch() { at::removeCallback(handle_); }

std::string CaptureWatch::failed() const {
  const std::lock_guard lock(mutex);
  return first_failed.empty() ? last_begun : first_failed;
}

CaptureReason capture_reason(const std::string& operation, bool warmed_up) {
  if (is_one_of(operation, {"aten::_local_scalar_dense", "aten::item", "aten::is_nonzero", "aten::equal"})) {
    return {operation + " (tensor.item()) reads the device from the host",
            "keep the value on the device and fetch it after the replay"};
  }
  if (is_one_of(operation, {"aten::nonzero", "aten::masked_select", "aten::unique", "aten::_unique2",
                            "aten::unique_consecutive", "aten::repeat_interleave"})) {
    return {"the shape that " + operation + " gives depends on values, which the host has to read",
            "a form of fixed shape, such as a product with a mask"};
  }
  if (is_one_of(operation, {"aten::copy_", "aten::_to_copy", "aten::to", "aten::pin_memory"})) {
    return {operation + " copies between host and device and waits for it",
            "bring what the step needs to the device before it, into tensors that stay"};
  }
  if (!warmed_up) {
    return {(operation.empty() ? std::string("a library") : operation) +
                " was used for the first time: libraries are set up and memory is taken from the driver then",
            "steps that are not recorded come first: graph.warmup"};
  }
  if (operation.empty()) {
    return {"something waited for the device, or left work on another stream",
            "one stream begins and ends a recording, and the host takes no part in it"};
  }
  return {operation + " waits for the device, takes memory from the driver, or works on another stream",
          "one stream begins and ends a recording, and the host takes no part in it"};
}

}  // namespace isobar
