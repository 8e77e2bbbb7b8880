// The part of Run that several ranks do together.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <numeric>

#include "core/fault.h"
#include "core/files.h"
#include "core/machine.h"
#include "device/device.h"
#include "run/rank_agreement.h"
#include "run/run.h"

namespace isobar {

int Run::sharers() const {
  // Slurm binds tasks to cores of their own, where it does.
  const bool own = ranks_.cores_of_task > 0 && usable_cores() <= ranks_.cores_of_task;
  return own ? 1 : ranks_.local_world;
}

void Run::join(JoinRanks join_ranks) {
  strike("start");
  if (!ranks_.note.empty()) console_.line(ranks_.note);
  if (ranks_.world == 1) return;
  if (join_ranks == nullptr) {
    throw Error(
        fmt::format("lesson {} trains on one rank, and this is one of {}", lesson_.name, ranks_.world),
        "environment", "start one process, or a lesson from 06_ddp on");
  }
  StopSignals::let_through();  // who waits for a rank that never comes must be stoppable
  comm_ = join_ranks(ranks_, loaded_.config.comm, device_.is_cuda());
  StopSignals::hold();
  compare_ranks();
  model_ranks_ = Comm::alone(ranks_.rank);
  if (loaded_.config.mesh.tp == 1) return;
  model_ranks_ = comm_.part(mesh().groups("tp"), "tp");
  replicas_ = comm_.part(mesh().groups("dp"), "dp");
}

Mesh Run::mesh() const {
  const MeshConfig& config = loaded_.config.mesh;
  return {config.order,
          {.tp = static_cast<int>(config.tp), .dp = static_cast<int>(replica_count())},
          ranks_.world};
}

Comm& Run::group(const std::string& axis) {
  if (axis == "tp") return model_ranks_;
  if (axis == "dp") return replicas_ ? *replicas_ : comm_;
  throw Error("the mesh of this run has no axis " + axis, "", "tp, dp", Exit::failed);
}

void Run::compare_ranks() {
  const FileDigest program = digest_of("/proc/self/exe");
  const std::string about =
      fmt::format("the lesson = {}\nthe program = {:08x}, {} bytes\nthe number of ranks = {}\n", lesson_.name,
                  program.crc32c, program.bytes, ranks_.world) +
      (resume_.wanted() ? fmt::format("the checkpoint = step {} of {}\n", resume_.state.step,
                                      resume_.folder.filename().string())
                        : "") +
      // What ranks of a model all compute for themselves has to come out the same to the bit.
      (loaded_.config.mesh.tp > 1 && device_.is_cpu()
           ? fmt::format("run.threads, alike in a model = {}\n", threads_)
           : "");
  check_same_on_ranks(comm_, "configurations", about + comparable_lines(loaded_.config));
}

void Run::enter_stage(const char* name) {
  stage_ = name;
  status_.stage(steps_done_, name);
  strike(name);
}

void Run::strike(const char* stage) {
  const FaultSetting& fault = fault_setting();
  const bool kills = fault.fault == Fault::kill_rank;
  if ((!kills && fault.fault != Fault::stop_rank) || fault.stage != stage || ranks_.rank != fault.rank)
    return;
  if (fault.stage == "checkpoint" && steps_done_ < fault.step) return;  // the next one, then
  if (fault.stage != "checkpoint" && fault.stage != "start" && steps_done_ != fault.step) return;
  const int signal = kills ? SIGKILL : SIGSTOP;
  if (fault.stage == "comm")
    comm_.raise_in_next_wait(signal);  // not in front of the collective but in the middle of it
  else
    raise(signal);
}

int Run::agreed_stop(bool now) {
  if (stop_ != 0) return stop_;
  const int own = StopSignals::requested();
  if (comm_.size() == 1) return stop_ = own;
  // What was asked for one step ago is known to all by now: each of them has called since.
  if (asked_) stop_ = static_cast<int>(asked_->value());
  asked_.reset();
  if (stop_ != 0) return stop_;
  Comm::PendingMax asked = comm_.start_max(own, "stop");
  if (now)
    stop_ = static_cast<int>(asked.value());
  else
    asked_.emplace(std::move(asked));
  return stop_;
}

at::Tensor Run::loss_of_all(const at::Tensor& loss) {
  if (comm_.size() == 1 || measures()) return loss;
  at::Tensor all = loss.detach().to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
  if (device_.is_cuda()) {
    comm_.all_reduce(all, Reduce::mean, "loss").wait();
    return all;
  }
  const std::vector<double> losses = comm_.all_gather_numbers(all.item<double>(), "loss");
  return all.fill_(std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size()));
}

void Run::add_sync(JsonLine& step, const SyncFigures& sync) {
  if (sync.calls == 0) return;
  if (sync.total_us >= 0) step.add("comm_total_us", sync.total_us);
  step.add("comm_calls", sync.calls).add("wire_bytes", sync.wire_bytes);
  if (sync.tp_calls > 0) {
    step.add("tp_calls", sync.tp_calls)
        .add("tp_wire_bytes", sync.tp_wire_bytes)
        .add("tp_wait_us", sync.tp_forward_wait_us + sync.tp_backward_wait_us);
  }
  if (sync.waited_for >= 0) step.add("waited_for", sync.waited_for).add("waited_us", sync.waited_us);
}

void Run::add_to_summary(const SyncFigures& sync) {
  if (sync.calls == 0) return;
  steady_sync_.total_us = sync.total_us < 0 ? -1 : steady_sync_.total_us + sync.total_us;
  steady_sync_.calls += sync.calls;
  steady_sync_.wire_bytes += sync.wire_bytes;
  steady_sync_.waited_us += sync.waited_us;
  steady_sync_.tp_calls += sync.tp_calls;
  steady_sync_.tp_wire_bytes += sync.tp_wire_bytes;
  if (sync.waited_for < 0) return;
  waited_for_.resize(static_cast<std::size_t>(comm_.size()));
  ++waited_for_.at(static_cast<std::size_t>(sync.waited_for));
}

void Run::summarise_sync(RunSummary& out, double steps) const {
  out.comm_total_us = steady_sync_.total_us < 0 ? -1 : static_cast<double>(steady_sync_.total_us) / steps;
  out.comm_calls = static_cast<double>(steady_sync_.calls) / steps;
  out.wire_bytes = static_cast<double>(steady_sync_.wire_bytes) / steps;
  out.tp_calls = static_cast<double>(steady_sync_.tp_calls) / steps;
  out.tp_wire_bytes = static_cast<double>(steady_sync_.tp_wire_bytes) / steps;
  out.waited_us = static_cast<double>(steady_sync_.waited_us) / steps;
  const auto most = std::max_element(waited_for_.begin(), waited_for_.end());
  if (most != waited_for_.end()) out.waited_for = static_cast<int>(most - waited_for_.begin());
}

}  // namespace isobar
