// What a program of several ranks links and one that trains alone does not.
#include <filesystem>

#include "comm/backends.h"
#include "comm/comm.h"
#include "comm/comm_core.h"

namespace isobar {

Comm::Comm(const RankEnvironment& environment, const CommConfig& config, bool on_cuda) : Comm() {
  core_->config = config;
  if (environment.world == 1) return;
  core_->members.resize(static_cast<std::size_t>(environment.world));
  for (int rank = 0; rank < environment.world; ++rank) core_->members[static_cast<std::size_t>(rank)] = rank;
  if (!environment.meeting_file.empty()) {
    CommShared& shared = *core_->shared;
    shared.status_folder = std::filesystem::path(environment.meeting_file).parent_path();
    shared.own_status = StatusSlot(shared.status_folder, environment.rank);
    shared.status = &shared.own_status;
  }
  core_->backends = make_backends(environment, config, on_cuda);
  core_->shared->launch = core_->backends->launch();
  core_->shared->own_status.join(core_->shared->launch);
  core_->open();
}

Comm join_ranks(const RankEnvironment& environment, const CommConfig& config, bool on_cuda) {
  return {environment, config, on_cuda};
}

}  // namespace isobar
