#include "comm/comm_group.h"

#include <fmt/format.h>

namespace isobar {

std::string Waited::text() const {
  return is_exchange || number < 0 ? what : fmt::format("collective {}: {}", number, what);
}

std::string CommGroup::place() const {
  const std::string group = is_world() ? "" : ", group " + name;
  return shared->step < 0 ? fmt::format("rank {}, before the first step{}", world_rank(), group)
                          : fmt::format("rank {}, step {}{}", world_rank(), shared->step + 1, group);
}

}  // namespace isobar
