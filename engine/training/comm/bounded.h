#pragma once
// Calls that may never return, such as a question to a store whose server stands still. Torch-free.
#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace isobar {

/// What `call` returns or throws; nothing when `patience` passed first. It continues in a thread of its own
/// then, for ever if need be, so it must own all that it works with.
template <typename Call>
std::optional<std::invoke_result_t<Call>> within(std::chrono::milliseconds patience, Call call) {
  std::packaged_task<std::invoke_result_t<Call>()> task(std::move(call));
  std::future<std::invoke_result_t<Call>> result = task.get_future();
  std::thread(std::move(task)).detach();
  if (result.wait_for(patience) != std::future_status::ready) return std::nullopt;
  return result.get();
}

}  // namespace isobar
