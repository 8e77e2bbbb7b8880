#include "run/rank_groups.h"

#include <fmt/format.h>

#include "config/fault.h"
#include "core/error.h"
#include "core/files.h"
#include "run/rank_agreement.h"
#include "running/signals.h"

namespace isobar {
namespace {

void compare_ranks(Comm& world, const RunPlan& plan) {
  const FileDigest program = digest_of("/proc/self/exe");
  const std::string about =
      fmt::format("the lesson = {}\nthe program = {:08x}, {} bytes\nthe number of ranks = {}\n",
                  plan.lesson.name, program.crc32c, program.bytes, plan.ranks.world) +
      (plan.resume.wanted() ? fmt::format("the checkpoint = step {} of {}\n", plan.resume.state.step,
                                          plan.resume.folder.filename().string())
                            : "") +
      // What ranks of a model all compute for themselves has to come out the same to the bit.
      (ranks_of_model(plan.config()) > 1 && plan.device.is_cpu()
           ? fmt::format("run.threads, alike in a model = {}\n", plan.threads)
           : "");
  check_same_on_ranks(world, "configurations", about + comparable_lines(plan.config()));
}

}  // namespace

RankGroups::RankGroups(const RunPlan& plan, JoinRanks join_ranks) {
  if (plan.ranks.world == 1) return;
  if (join_ranks == nullptr) {
    throw Error(fmt::format("lesson {} trains on one rank, and this is one of {}", plan.lesson.name,
                            plan.ranks.world),
                "environment", "start one process, or a lesson that takes --ranks");
  }
  StopSignals::let_through();  // who waits for a rank that never comes must be stoppable
  world_ = join_ranks(plan.ranks, plan.config().comm, plan.device.is_cuda());
  StopSignals::hold();
  compare_ranks(world_, plan);
  const Mesh mesh = plan.mesh();
  const Config& config = plan.config();
  for (Comm* const one : {&model_, &context_, &stages_, &ensemble_, &readers_, &copies_})
    *one = Comm::alone(plan.ranks.rank);
  if (config.mesh.tp > 1) model_ = world_.part(mesh.groups("tp"), "tp");
  if (config.mesh.cp > 1) context_ = world_.part(mesh.groups("cp"), "cp");
  // A group of one belongs to the world too, where a pipeline works in it: it has its steps, and its
  // mistakes.
  if (config.mesh.pp > 1 || plan.honours("mesh.pp")) stages_ = world_.part(mesh.groups("pp"), "pp");
  if (ranks_of_model(config) > 1) replicas_ = world_.part(mesh.groups("dp"), "dp");
  if (config.mesh.cp > 1 && config.mesh.tp * config.mesh.pp > 1)
    holders_ = world_.part(mesh.groups("dp-cp"), "dp-cp");
  if (models_of_ensemble(config) > 1) {
    ensemble_ = world_.part(mesh.groups("ens"), "ens");
    data_ = world_.part(mesh.groups("data"), "data");
  }
  if (config.data.read_group > 1)
    readers_ = world_.part(mesh.runs("tp-cp-pp", static_cast<int>(config.data.read_group)), "read");
  if (config.mesh.shard == 0 || !plan.honours("mesh.shard")) return;
  shard_ = world_.part(mesh.groups("shard"), "shard", Reach::inside_node);
  copies_ = world_.part(mesh.groups("copies"), "copies");
}

Comm& RankGroups::along(const std::string& axis) {
  if (axis == "tp") return model_;
  if (axis == "cp") return context_;
  if (axis == "pp") return stages_;
  if (axis == "dp") return replicas_ ? *replicas_ : world_;
  if (axis == "dp-cp") return holders_ ? *holders_ : context_.size() > 1 ? world_ : along("dp");
  if (axis == "ens") return ensemble_;
  if (axis == "data") return data_ && !has_fault(Fault::ens_other_dates) ? *data_ : along("dp");
  if (axis == "read") return readers_;
  if (axis == "shard") return shard_ ? *shard_ : along("dp");
  if (axis == "copies") return copies_;
  throw Error("the mesh of this run has no axis " + axis, "",
              "tp, cp, pp, dp, dp-cp, ens, data, read, shard, copies", Exit::failed);
}

}  // namespace isobar
