#include "comm/meeting.h"

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace isobar {

c10::intrusive_ptr<c10d::Store> meet(const RankEnvironment& environment, double timeout_s) {
  const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_s * 1e3));
  if (environment.launched_by == LaunchedBy::isobar) {
    auto store = c10::make_intrusive<c10d::FileStore>(environment.meeting_file, environment.world);
    store->setTimeout(timeout);
    return store;
  }
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(environment.port);
  options.isServer = environment.rank == 0;
  options.numWorkers = static_cast<std::size_t>(environment.world);
  options.timeout = timeout;
  return c10::make_intrusive<c10d::TCPStore>(environment.address, options);
}

}  // namespace isobar
