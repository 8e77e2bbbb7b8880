#include "run/check_fault.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/fault.h"

namespace isobar {

namespace {

/// Mistakes in a recording need one in which they are made.
void check_graph_fault(const Config& config, const std::string& where) {
  const Fault fault = fault_setting().fault;
  if (fault >= Fault::item_in_capture && fault <= Fault::lr_baked_in && !config.graph.enabled) {
    throw Error(fmt::format("the fault {} is one of a recording, and nothing is recorded", config.run.fault),
                where, "--set graph.enabled=true, or another fault");
  }
  if (fault == Fault::lr_baked_in && config.graph.scope == "model") {
    throw Error("the learning rate is no part of a recording of graph.scope = model", where,
                "--set graph.scope=step, or another fault");
  }
}

/// Whether it is made between replicas of the model only.
bool is_between_replicas(Fault fault) {
  // Collectives within a model are waited for one by one: they have no order that could be changed.
  return fault == Fault::no_broadcast || fault == Fault::same_shard || fault == Fault::sum_gradients ||
         fault == Fault::other_order;
}

/// Mistakes between replicas, or within one that several ranks share.
void check_mesh_fault(const Config& config, const std::string& where) {
  const Fault fault = fault_setting().fault;
  const std::int64_t tp = config.mesh.tp;
  if (is_of_split_layers(fault) && tp == 1) {
    throw Error(fmt::format("the fault {} is one of layers that are split over ranks, and mesh.tp is 1",
                            config.run.fault),
                where, "--set mesh.tp=2, or another fault");
  }
  if (fault == Fault::same_seed_shards && !config.train.init.empty()) {
    throw Error("the fault same_seed_shards is one of drawing the first weights, and train.init brings them",
                where, "leave out train.init, or another fault");
  }
  if (fault == Fault::unequal_batch && tp > 1) {
    throw Error(fmt::format("the fault unequal_batch has one rank compute its backward pass twice, and with "
                            "mesh.tp = {} the other ranks of its model would not join it",
                            tp),
                where, "--set mesh.tp=1, or another fault");
  }
  if (is_between_replicas(fault) && replicas(config) == 1) {
    throw Error(fmt::format("the fault {} is one between replicas, and all {} ranks share one model",
                            config.run.fault, config.run.ranks),
                where, fmt::format("--ranks {}, or another fault", 2 * tp));
  }
}

/// Mistakes of one rank among several need several, and that one among them.
void check_rank_fault(const Config& config, const std::string& where) {
  const FaultSetting& setting = fault_setting();
  if (config.run.ranks == 1 && !shows_alone(setting.fault)) {
    throw Error(
        fmt::format("the fault {} is one of several ranks, and this process trains alone", config.run.fault),
        where, "--ranks 2, or another fault");
  }
  check_mesh_fault(config, where);
  const bool of_one_rank = setting.fault == Fault::slow_rank || setting.fault == Fault::unequal_batch ||
                           (setting.fault == Fault::inject_inf && replicas(config) > 1) ||
                           (setting.fault >= Fault::kill_rank && setting.fault <= Fault::flip_bit);
  if (of_one_rank && setting.rank >= config.run.ranks) {
    throw Error(fmt::format("there is no rank {} that the fault could strike: the {} ranks are 0 to {}",
                            setting.rank, config.run.ranks, config.run.ranks - 1),
                "run.fault_rank", "a rank below run.ranks");
  }
  const bool of_averaging = setting.fault == Fault::sum_gradients || setting.fault == Fault::other_shape ||
                            setting.fault == Fault::other_order || setting.fault == Fault::extra_collective;
  if (of_averaging && config.comm.sync == "none") {
    throw Error(fmt::format("the fault {} strikes where gradients are averaged, and comm.sync is none",
                            config.run.fault),
                where, "--set comm.sync=buckets, or another fault");
  }
  if (setting.fault == Fault::other_order && config.comm.sync == "at_end") {
    throw Error("one message a step has no order that could be changed", where,
                "--set comm.sync=per_parameter, or another fault");
  }
}

/// Mistakes in a rule that is not in force.
void check_rule_fault(const Config& config, const std::string& where) {
  const FaultSetting& setting = fault_setting();
  const bool of_order = setting.fault == Fault::no_shuffle || setting.fault == Fault::no_set_epoch ||
                        setting.fault == Fault::different_data_in_group;
  if (of_order && !config.data.shuffle) {
    throw Error(
        fmt::format("the fault {} is one of a shuffled order, and data.shuffle is false", config.run.fault),
        where, "--set data.shuffle=true, or another fault");
  }
  if (setting.fault == Fault::lr_unscaled && config.schedule.lr_rule == "none") {
    throw Error("the fault lr_unscaled leaves out schedule.lr_rule, which is none", where,
                "--set schedule.lr_rule=linear, or another fault");
  }
  if (setting.fault == Fault::lr_unscaled && config.train.global_batch == config.schedule.base_batch) {
    throw Error(fmt::format("the fault lr_unscaled leaves out a factor that is 1: train.global_batch and "
                            "schedule.base_batch are both {}",
                            config.train.global_batch),
                where, "another schedule.base_batch, or another fault");
  }
  const bool in_no_step = setting.stage == "start" || setting.stage == "checkpoint";
  if (setting.fault == Fault::slow_stage && in_no_step)
    throw Error("slow_stage makes a stage of a step slower, and " + setting.stage + " is none",
                "run.fault_stage", "load, copy, forward, backward, comm or optimize");
}

}  // namespace

void check_fault(const Config& config, c10::Device device) {
  const Fault fault = fault_setting().fault;
  const std::string where = "run.fault = " + config.run.fault;
  if (!device.is_cuda() && !shows_on_cpu(fault)) {
    throw Error(fmt::format("the fault {} is one of the way to a CUDA device, and this run is on {}",
                            config.run.fault, device.str()),
                where, "run.device=cuda, or another fault");
  }
  const bool of_scaling = fault == Fault::no_scaler || fault == Fault::scale_too_high;
  if (of_scaling && config.amp.mode != "fp16") {
    throw Error(
        fmt::format("the fault {} is one of scaling the loss, which only fp16 needs, and amp.mode is {}",
                    config.run.fault, config.amp.mode),
        where, "--set amp.mode=fp16, or another fault");
  }
  if (fault == Fault::all_half && config.amp.mode != "fp16" && config.amp.mode != "bf16") {
    throw Error(fmt::format("the fault all_half keeps weights in the 16 bits of amp.mode, which is {}",
                            config.amp.mode),
                where, "--set amp.mode=bf16 or fp16, or another fault");
  }
  check_graph_fault(config, where);
  check_rank_fault(config, where);
  check_rule_fault(config, where);
  const auto needs = [&](Fault wanted, bool is_on, const std::string& key) {
    if (fault != wanted || is_on) return;
    throw Error(fmt::format("the fault {} is one of a fusion that is off", config.run.fault), where,
                "--set " + key + "=true, or another fault");
  };
  needs(Fault::tanh_gelu, config.fusion.bias_gelu, "fusion.bias_gelu");
  needs(Fault::unfused_adam, config.fusion.adam, "fusion.adam");
  if (fault == Fault::nan_in_padding && device.is_cuda()) {
    throw Error("the fault nan_in_padding is told apart from a broken gradient on a CPU only", where,
                "run.device=cpu, or another fault");
  }
  // Without the fused norm only the tensors are looked at.
  needs(Fault::nan_in_padding, config.fusion.grad_norm, "fusion.grad_norm");
}

void check_needs(const LessonInfo& lesson, c10::Device device) {
  if (lesson.needs != "cuda" || device.is_cuda()) return;
  throw Error(fmt::format("lesson {} needs a CUDA device, and this run is on {}", lesson.name, device.str()),
              "run.device",
              fmt::format("./isobar show {} --recorded opens a run of another machine", lesson.name));
}

}  // namespace isobar
