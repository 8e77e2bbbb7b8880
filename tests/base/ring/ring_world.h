#pragma once
// A ring whose ranks are threads of this process, each with an engine and a view of the memory of its own, so
// that the thread sanitizer sees all of them.
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ring/ring_engine.h"
#include "support/deadline.h"

namespace isobar::testing {

class RingWorld {
 public:
  explicit RingWorld(int size) {
    SharedMemory made = SharedMemory::make(RingEngine::bytes(size));
    const std::string address = made.address();
    engines_.push_back(nullptr);
    for (int rank = 1; rank < size; ++rank) {
      engines_.push_back(
          std::make_unique<RingEngine>(SharedMemory::open(address, RingEngine::bytes(size)), rank, size));
    }
    engines_.front() = std::make_unique<RingEngine>(std::move(made), 0, size);
  }

  /// What an all-to-all of more than two ranks needs.
  void connect_pairs() {
    SharedMemory made = SharedMemory::make(PairLinks::bytes(engines_.front()->size()));
    const std::string address = made.address();
    for (std::size_t rank = 1; rank < engines_.size(); ++rank)
      engines_[rank]->connect_pairs(SharedMemory::open(address, made.bytes()));
    engines_.front()->connect_pairs(std::move(made));
  }

  /// Runs `body` on every rank at the same time, at most a minute.
  void run(const std::function<void(RingEngine&)>& body) {
    const Deadline deadline("a ring of threads", std::chrono::seconds(60));
    std::vector<std::jthread> threads;
    for (const auto& engine : engines_) {
      if (engine != nullptr) threads.emplace_back([&] { body(*engine); });
    }
  }

  RingEngine& at(int rank) { return *engines_.at(static_cast<std::size_t>(rank)); }
  /// As if the process had ended in order.
  void leave(int rank) { engines_.at(static_cast<std::size_t>(rank)).reset(); }

 private:
  std::vector<std::unique_ptr<RingEngine>> engines_;
};

template <typename Value>
RingRequest all_reduce_of(std::vector<Value>& values, CombineType type) {
  auto* const bytes = reinterpret_cast<std::byte*>(values.data());
  return {.kind = RingKind::all_reduce,
          .type = type,
          .elements = static_cast<std::int64_t>(values.size()),
          .in = bytes,
          .out = bytes};
}

}  // namespace isobar::testing
