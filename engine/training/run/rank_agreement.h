#pragma once
// What all ranks must have in common, and the device that each gets.
#include <c10/core/Device.h>

#include <string>
#include <string_view>
#include <vector>

#include "comm/comm.h"
#include "config/config.h"
#include "launch/rank_environment.h"

namespace isobar {

/// "optim.lr is 0.001 on ranks 0, 2 and 0.002 on rank 1": the first line "name = value" that is not the same
/// in all texts; "" when none differs. Rank r wrote texts[r].
std::string first_difference(const std::vector<std::string>& texts);

/// Error (exit code 2) on all ranks unless they all come with the same lines "name = value". Only a checksum
/// travels while they agree. `what` names them: "configurations".
void check_same_on_ranks(Comm& comm, std::string_view what, const std::string& lines);

/// All keys as such lines, without those that may differ from rank to rank: the device, its threads, where
/// the data are.
std::string comparable_lines(const Config& config);

/// What `name` (run.device) means for this rank: of several CUDA devices each rank of a machine gets its own.
/// Error (exit code 2) when there are fewer devices than ranks.
c10::Device rank_device(const std::string& name, const RankEnvironment& ranks);

}  // namespace isobar
