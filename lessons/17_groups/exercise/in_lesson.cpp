// ./isobar run 17_groups --mine: ranks work together in the learner's groups along each axis. They are
// compared with ours before anything is sent: in groups that do not fit together ranks wait for each other.
#include <vector>

#include "17_groups/exercise/part.h"
#include "check/own_part.h"
#include "core/error.h"
#include "launch/mesh.h"
#include "run/run_plan.h"

using namespace isobar;

namespace {

const PluggedIn groups(seams::groups_along, [](int world, const std::vector<MeshAxis>& axes) {
  std::vector<exercise::GroupAxis> along;
  for (const MeshAxis& axis : axes)
    along.push_back({.name = axis.name, .size = axis.size, .stride = axis.stride});
  exercise::GroupList out = own_part_as<exercise::Part>().groups_along(world, along);
  if (out != groups_along(world, axes))
    throw Error("your groups are not those of this mesh", "my/17_groups.cpp",
                "./isobar check 17_groups names the first that differs");
  return out;
});

const PluggedIn check(seams::check_run, [](const Config& config, c10::Device) {
  if (config.run.ranks == 1)
    throw Error("your groups have nothing to do: there is one rank", "run.ranks",
                "--ranks 4 --set mesh.gpus_per_model=2");
});

}  // namespace
