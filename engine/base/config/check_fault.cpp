#include "config/check_fault.h"

#include <fmt/format.h>

#include "core/error.h"

namespace isobar {
namespace {

/// One thing that faults need: the text where it is missing, and what would help. Both may name {fault},
/// {device}, {amp}, {tp}, {cp}, {ranks}, {more_ranks} and {batch}.
struct Need {
  bool (*asked)(const FaultRow& row);
  bool (*missing)(const Config& config, bool on_cuda);
  const char* said;
  const char* hint;
};

template <Fault... faults>
bool is(const FaultRow& row) {
  return ((row.fault == faults) || ...);
}

template <Shows... places>
bool shows(const FaultRow& row) {
  return ((row.shows == places) || ...);
}

std::int64_t tokens_of_sample(const Config& c) {
  return c.data.grid[0] / c.model.patch * (c.data.grid[1] / c.model.patch);
}

constexpr const char* kFusionIsOff = "the fault {fault} is one of a fusion that is off";

// The first one that is missing is reported.
// clang-format off
constexpr Need kNeeds[] = {
    {shows<Shows::on_cuda, Shows::in_recording>, [](const Config&, bool on_cuda) { return !on_cuda; },
     "the fault {fault} is one of the way to a CUDA device, and this run is on {device}", "run.device=cuda"},
    {shows<Shows::in_recording>, [](const Config& c, bool) { return !c.graph.enabled; },
     "the fault {fault} is one of a recording, and nothing is recorded", "--set graph.enabled=true"},
    {[](const FaultRow& row) { return !shows_alone(row.fault); },
     [](const Config& c, bool) { return c.run.ranks == 1; },
     "the fault {fault} is one of several ranks, and this process trains alone", "--ranks 2"},
    {shows<Shows::in_split_layers>, [](const Config& c, bool) { return c.mesh.tp == 1; },
     "the fault {fault} is one of layers that are split over ranks, and mesh.tp is 1", "--set mesh.tp=2"},
    {shows<Shows::between_stages>, [](const Config& c, bool) { return c.mesh.pp == 1; },
     "the fault {fault} is one of stages of a model, and mesh.pp is 1", "--ranks 2 --set mesh.pp=2"},
    {shows<Shows::between_tokens>, [](const Config& c, bool) { return c.mesh.cp == 1; },
     "the fault {fault} is one of ranks that share tokens, and mesh.cp is 1", "--ranks 2 --set mesh.cp=2"},
    {shows<Shows::in_ensembles>, [](const Config& c, bool) { return members(c) == 1; },
     "the fault {fault} is one of members of an ensemble, and a sample has one", "--set mesh.members_per_device=2"},
    {shows<Shows::in_read_groups>, [](const Config& c, bool) { return c.data.read_group == 1; },
     "the fault {fault} is one of ranks that read together, and data.read_group is 1",
     "--ranks 2 --set mesh.gpus_per_model=2 --set data.read_group=2"},
    {shows<Shows::between_replicas>, [](const Config& c, bool) { return models(c) == 1; },
     "the fault {fault} is one between replicas, and all {ranks} ranks share one model", "--ranks {more_ranks}"},

    {is<Fault::no_scaler, Fault::scale_too_high>,
     [](const Config& c, bool) { return c.amp.mode != AmpMode::fp16; },
     "the fault {fault} is one of scaling the loss, which only fp16 needs, and amp.mode is {amp}",
     "--set amp.mode=fp16"},
    {is<Fault::all_half>, [](const Config& c, bool) { return !is_16_bit(c.amp.mode); },
     "the fault all_half keeps weights in the 16 bits of amp.mode, which is {amp}", "--set amp.mode=bf16 or fp16"},
    {is<Fault::all_half, Fault::flip_bit, Fault::nan_weight>,
     [](const Config& c, bool) { return c.mesh.offload == OffloadKind::optimizer; },
     "the fault {fault} changes weights on the device, and with mesh.offload = optimizer each update replaces them by "
     "those in host memory", "--set mesh.offload=none or weights"},
    {is<Fault::no_rng_restore, Fault::no_autocast_restore, Fault::checkpoint_under_no_grad>,
     [](const Config& c, bool) { return c.model.checkpoint < CheckpointKind::selective; },
     "the fault {fault} is one of a second forward pass, and with this model.checkpoint there is none",
     "--set model.checkpoint=block or selective"},
    {is<Fault::no_rng_restore>, [](const Config& c, bool) { return c.model.dropout == 0; },
     "the fault no_rng_restore is one of random numbers, and with model.dropout = 0 none are drawn",
     "--set model.dropout=0.1"},
    {is<Fault::no_autocast_restore>, [](const Config& c, bool) { return !is_16_bit(c.amp.mode); },
     "the fault no_autocast_restore computes in float32 what was computed in 16 bits, and amp.mode is {amp}",
     "--set amp.mode=bf16"},
    {is<Fault::imbalance>, [](const Config& c, bool) { return c.mesh.pp * c.mesh.chunks == c.model.depth; },
     "the fault imbalance moves blocks to the first stage, and each stage has one", "fewer stages"},
    {is<Fault::imbalance>, [](const Config& c, bool) { return !c.mesh.stage_blocks.empty(); },
     "the fault imbalance sets mesh.stage_blocks, which is set", "leave out mesh.stage_blocks"},
    {is<Fault::deadlock>, [](const Config& c, bool) { return c.mesh.schedule == PipelineForm::gpipe; },
     "the fault deadlock has two ranks send to each other at a time, and with mesh.schedule = gpipe none do",
     "--set mesh.schedule=1f1b"},
    {is<Fault::deadlock>, [](const Config& c, bool) { return c.train.accumulate == 1; },
     "the fault deadlock has two ranks send to each other at a time, and with one micro-batch none do",
     "--set train.accumulate=4"},
    {is<Fault::no_loss_scale>, [](const Config& c, bool) { return c.train.accumulate == 1; },
     "the fault no_loss_scale leaves out a division by train.accumulate, which is 1", "--set train.accumulate=4"},
    {is<Fault::assume_even>,
     [](const Config& c, bool) { return tokens_of_sample(c) % c.mesh.cp == 0; },
     "the fault assume_even takes uneven shares of tokens for even ones, and with mesh.cp = {cp} they are even",
     "another mesh.cp"},
    {is<Fault::no_init_sync>, [](const Config& c, bool) { return !c.train.init.empty(); },
     "the fault no_init_sync is one of drawing the first weights, and train.init brings them",
     "leave out train.init"},
    {is<Fault::ens_gradient_small, Fault::ens_other_dates>,
     [](const Config& c, bool) { return models_of_ensemble(c) == 1; },
     "the fault {fault} is one between the models of an ensemble, and each has one",
     "--ranks {more_ranks} --set mesh.gpus_per_ensemble={more_ranks}"},
    {is<Fault::ens_members_wrong>, [](const Config& c, bool) { return ranks_of_model(c) == 1; },
     "the fault ens_members_wrong counts the ranks of a model as members, and a model has one",
     "--ranks 2 --set mesh.gpus_per_model=2 --set mesh.members_per_device=2"},
    {is<Fault::lr_baked_in>, [](const Config& c, bool) { return c.graph.scope == GraphScope::model; },
     "the learning rate is no part of a recording of graph.scope = model", "--set graph.scope=step"},
    {is<Fault::same_seed_shards>, [](const Config& c, bool) { return !c.train.init.empty(); },
     "the fault same_seed_shards is one of drawing the first weights, and train.init brings them",
     "leave out train.init"},
    {is<Fault::unequal_batch>, [](const Config& c, bool) { return c.mesh.tp > 1; },
     "the fault unequal_batch has one rank compute its backward pass twice, and with mesh.tp = {tp} the other "
     "ranks of its model would not join it", "--set mesh.tp=1"},
    {is<Fault::unequal_batch>, [](const Config& c, bool) { return c.mesh.pp > 1; },
     "the fault unequal_batch has one rank compute its backward pass twice, and stages have one of each micro-batch",
     "--set mesh.pp=1"},
    {is<Fault::uneven_shards>, [](const Config& c, bool) { return c.train.global_batch < 2 * c.run.ranks; },
     "the fault uneven_shards gives one rank fewer samples, and with a batch of {batch} each has one",
     "a larger train.global_batch"},
    {is<Fault::forward_order, Fault::one_bucket, Fault::tiny_buckets>,
     [](const Config& c, bool) { return c.comm.sync != SyncKind::buckets; },
     "the fault {fault} is one of the buckets, and comm.sync is another", "--set comm.sync=buckets"},
    {is<Fault::no_error_feedback, Fault::different_seeds, Fault::no_orth, Fault::flat_view>,
     [](const Config& c, bool) { return !is_low_rank(c.comm.compress); },
     "the fault {fault} is one of low-rank factors, and comm.compress sends none",
     "--set comm.compress=powersgd or acpsgd"},
    {is<Fault::fp16_overflow>, [](const Config& c, bool) { return c.comm.compress != CompressKind::fp16; },
     "the fault fp16_overflow is one of sums in fp16, and comm.compress is another", "--set comm.compress=fp16"},
    {is<Fault::sum_gradients>, [](const Config& c, bool) { return c.comm.compress != CompressKind::none; },
     "the fault sum_gradients leaves out a division that comm.compress makes by itself", "--set comm.compress=none"},
    {is<Fault::sum_gradients, Fault::forward_order, Fault::one_bucket, Fault::tiny_buckets>,
     [](const Config& c, bool) { return c.comm.average == Averaged::weights; },
     "the fault {fault} strikes where gradients are averaged, and comm.average is weights",
     "--set comm.average=gradients"},
    {is<Fault::sum_gradients, Fault::sum_not_mean, Fault::no_average, Fault::other_shape, Fault::other_order,
        Fault::extra_collective>,
     [](const Config& c, bool) { return c.comm.sync == SyncKind::none; },
     "the fault {fault} strikes where gradients are averaged, and comm.sync is none", "--set comm.sync=buckets"},
    {is<Fault::other_order>, [](const Config& c, bool) { return c.comm.sync == SyncKind::at_end; },
     "one message a step has no order that could be changed", "--set comm.sync=per_parameter"},
    {is<Fault::noise_after_mean>, [](const Config& c, bool) { return c.train.noise_every == 0; },
     "the fault noise_after_mean is one of measuring gradient noise, and train.noise_every is 0",
     "--set train.noise_every=1"},
    {is<Fault::no_shuffle, Fault::no_set_epoch, Fault::different_data_in_group>,
     [](const Config& c, bool) { return !c.data.shuffle; },
     "the fault {fault} is one of a shuffled order, and data.shuffle is false", "--set data.shuffle=true"},
    {is<Fault::slow_link, Fault::race, Fault::rank_order>,
     [](const Config& c, bool) { return c.comm.link.latency_us == 0 && c.comm.link.gbit_per_s == 0; },
     "the fault {fault} is one of the link, and none is emulated",
     "--set comm.link.latency_us=200 --set comm.link.gbit_per_s=1"},
    {is<Fault::rank_order>, [](const Config& c, bool) { return c.comm.link.gbit_per_s == 0; },
     "the fault rank_order has ranks share the bandwidth of a link, and none is limited",
     "--set comm.link.gbit_per_s=1"},
    {is<Fault::rank_order>, [](const Config& c, bool) { return c.run.ranks < 4 || c.run.ranks % 2 != 0; },
     "the fault rank_order puts half of the ranks on each of two machines: {ranks} have no such halves, or no worse "
     "order", "--ranks 4"},
    {is<Fault::lr_unscaled>, [](const Config& c, bool) { return c.schedule.lr_rule == LrRule::none; },
     "the fault lr_unscaled leaves out schedule.lr_rule, which is none", "--set schedule.lr_rule=linear"},
    {is<Fault::lr_unscaled>,
     [](const Config& c, bool) { return c.train.global_batch == c.schedule.base_batch; },
     "the fault lr_unscaled leaves out a factor that is 1: train.global_batch and schedule.base_batch are both "
     "{batch}", "another schedule.base_batch"},
    {is<Fault::tanh_gelu>, [](const Config& c, bool) { return !c.fusion.bias_gelu; },
     kFusionIsOff, "--set fusion.bias_gelu=true"},
    {is<Fault::unfused_adam>, [](const Config& c, bool) { return !c.fusion.adam; },
     kFusionIsOff, "--set fusion.adam=true"},
    {is<Fault::nan_in_padding>, [](const Config&, bool on_cuda) { return on_cuda; },
     "the fault nan_in_padding can be distinguished from a broken gradient on a CPU only", "run.device=cpu"},
    // Without the fused norm only the tensors are looked at.
    {is<Fault::nan_in_padding>, [](const Config& c, bool) { return !c.fusion.grad_norm; },
     kFusionIsOff, "--set fusion.grad_norm=true"},
};
// clang-format on

void check_keys(const FaultSetting& fault, const Config& config) {
  const std::int64_t ranks = config.run.ranks;
  const bool strikes_one =
      row_of(fault.fault).takes("rank") || (fault.fault == Fault::inject_inf && models(config) > 1);
  if (strikes_one && fault.rank >= ranks) {
    throw Error(fmt::format("there is no rank {} that the fault could strike: the {} ranks are 0 to {}",
                            fault.rank, ranks, ranks - 1),
                "run.fault_rank", "a rank below run.ranks");
  }
  if (fault.fault == Fault::slow_stage && !fault.is_in_step()) {
    throw Error(
        fmt::format("slow_stage makes a stage of a step slower, and {} is none", name_of(fault.stage)),
        "run.fault_stage", "load, copy, forward, backward, comm or optimize");
  }
}

}  // namespace

void check_fault(const FaultSetting& fault, const Config& config, const std::string& device) {
  const auto filled = [&](const char* text) {
    return fmt::format(
        fmt::runtime(text), fmt::arg("fault", name_of(config.run.fault)), fmt::arg("device", device),
        fmt::arg("amp", name_of(config.amp.mode)), fmt::arg("tp", config.mesh.tp),
        fmt::arg("cp", config.mesh.cp), fmt::arg("ranks", config.run.ranks),
        fmt::arg("more_ranks", 2 * ranks_of_model(config)), fmt::arg("batch", config.train.global_batch));
  };
  const bool on_cuda = device.starts_with("cuda");
  for (const Need& need : kNeeds) {
    if (!need.asked(row_of(fault.fault)) || !need.missing(config, on_cuda)) continue;
    throw Error(filled(need.said), fmt::format("run.fault = {}", name_of(config.run.fault)),
                filled(need.hint) + ", or another fault");
  }
  check_keys(fault, config);
}

FaultSetting take_fault(const Config& config, std::int64_t rank, const std::string& device) {
  const RunConfig& run = config.run;
  const FaultSetting fault{run.fault, run.fault_ms, run.fault_stage, run.fault_step, run.fault_rank, rank};
  check_fault(fault, config, device);
  return fault;
}

}  // namespace isobar
