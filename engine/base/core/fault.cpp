#include "core/fault.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::array<FaultRow, 64> kFaults = {{
    {Fault::none, "none", "", MadeBy::nothing},
    {Fault::no_zero_grad, "no_zero_grad", "gradients are never set to zero, so those of all steps pile up",
     MadeBy::parameters},
    {Fault::no_shuffle, "no_shuffle", "samples come in the same order every epoch", MadeBy::configuration},
    {Fault::no_normalise, "no_normalise", "fields are not normalised, only divided by 100,000",
     MadeBy::configuration},
    {Fault::sync_each_step, "sync_each_step", "the loss is fetched from the device in every step",
     MadeBy::run},
    {Fault::wrong_unpatch, "wrong_unpatch",
     "the outputs of a token are put back in the wrong order (c, p, q)", MadeBy::configuration},
    {Fault::slow_disk, "slow_disk", "reading is held to 290 MB/s", MadeBy::configuration},
    {Fault::train_on_valid, "train_on_valid", "training uses the samples of the validation set",
     MadeBy::configuration},
    {Fault::slow_stage, "slow_stage", "{ms} ms are added to the stage {stage}", MadeBy::stages},
    {Fault::nan_weight, "nan_weight", "a weight becomes NaN in step {step}", MadeBy::parameters},
    {Fault::nan_gradient, "nan_gradient", "a gradient becomes NaN in step {step}", MadeBy::parameters},
    {Fault::slow_loader, "slow_loader", "each batch takes longer to read ({ms} ms)", MadeBy::configuration},
    {Fault::slow_worker, "slow_worker", "each batch that the first worker reads takes longer ({ms} ms)",
     MadeBy::configuration},
    {Fault::same_seed_workers, "same_seed_workers",
     "all workers draw the same order, so each sample comes as often as there are workers",
     MadeBy::configuration},
    {Fault::respawn, "respawn", "workers end with each epoch and are started again for the next",
     MadeBy::configuration},
    {Fault::pageable, "pageable", "batches lie in memory that is not page-locked", MadeBy::configuration,
     Shows::on_cuda},
    {Fault::oversubscribe, "oversubscribe", "eight workers for each processor", MadeBy::configuration},
    {Fault::default_stream_copy, "default_stream_copy", "uploads wait in line with the kernels",
     MadeBy::configuration, Shows::on_cuda},
    {Fault::no_event, "no_event", "a batch is used before it has arrived on the device",
     MadeBy::configuration, Shows::on_cuda},
    {Fault::one_slot, "one_slot", "the ring has one slot", MadeBy::configuration},
    {Fault::host_normalise, "host_normalise",
     "fields are normalised before the upload, by the threads that read", MadeBy::configuration,
     Shows::on_cuda},
    {Fault::no_scaler, "no_scaler", "fp16 without loss scaling, so small gradients become zero",
     MadeBy::configuration},
    {Fault::all_half, "all_half", "weights have 16 bits and no float32 copy, so small updates vanish",
     MadeBy::parameters},
    {Fault::inject_inf, "inject_inf", "a gradient becomes infinite in step {step}", MadeBy::ranks},
    {Fault::scale_too_high, "scale_too_high", "the loss scale starts at 2^40, so the first steps overflow",
     MadeBy::configuration},
    {Fault::tanh_gelu, "tanh_gelu", "fused GELU has its tanh form, which is another function",
     MadeBy::configuration},
    {Fault::unfused_adam, "unfused_adam", "Adam works in plain operations, a pass each",
     MadeBy::configuration},
    {Fault::math_attention, "math_attention", "attention writes its N x N matrix to memory",
     MadeBy::configuration},
    {Fault::nan_in_padding, "nan_in_padding",
     "the gap behind the tensors of the gradient buffer holds a NaN in step {step}", MadeBy::parameters},
    {Fault::item_in_capture, "item_in_capture", "the loss is fetched while the graph is recorded",
     MadeBy::configuration, Shows::in_recording},
    {Fault::stale_input, "stale_input", "the graph is replayed without the new batch", MadeBy::configuration,
     Shows::in_recording},
    {Fault::no_warmup, "no_warmup", "the very first step is recorded", MadeBy::configuration,
     Shows::in_recording},
    {Fault::lr_baked_in, "lr_baked_in", "the learning rate of the recorded step holds for ever",
     MadeBy::configuration, Shows::in_recording},
    {Fault::no_broadcast, "no_broadcast", "each rank starts from weights of its own", MadeBy::parameters,
     Shows::between_replicas},
    {Fault::same_shard, "same_shard", "all ranks read the samples of rank 0", MadeBy::configuration,
     Shows::between_replicas},
    {Fault::no_set_epoch, "no_set_epoch", "every epoch has the order of the first", MadeBy::configuration},
    {Fault::sum_gradients, "sum_gradients", "gradients are added over the ranks and not divided",
     MadeBy::configuration, Shows::between_replicas},
    {Fault::lr_unscaled, "lr_unscaled", "schedule.lr_rule is ignored", MadeBy::configuration},
    {Fault::slow_rank, "slow_rank", "one rank is slower in its backward pass (rank {rank}, {ms} ms)",
     MadeBy::ranks, Shows::on_several_ranks},
    {Fault::unequal_batch, "unequal_batch", "one rank computes twice as much as the others (rank {rank})",
     MadeBy::ranks, Shows::on_several_ranks},
    {Fault::rank0_log_only, "rank0_log_only", "only rank 0 writes a stream", MadeBy::run,
     Shows::on_several_ranks},
    {Fault::kill_rank, "kill_rank", "one rank is killed (rank {rank}, stage {stage} of step {step})",
     MadeBy::stages, Shows::on_several_ranks},
    {Fault::stop_rank, "stop_rank", "one rank stops answering (rank {rank}, stage {stage} of step {step})",
     MadeBy::stages, Shows::on_several_ranks},
    {Fault::other_shape, "other_shape",
     "one rank sends a value less than the others (rank {rank}, step {step})", MadeBy::ranks,
     Shows::on_several_ranks},
    // Collectives within a model are waited for one by one: they have no order that could be changed.
    {Fault::other_order, "other_order", "one rank swaps two collectives (rank {rank}, step {step})",
     MadeBy::ranks, Shows::between_replicas},
    {Fault::extra_collective, "extra_collective",
     "one rank calls a collective more (rank {rank}, step {step})", MadeBy::ranks, Shows::on_several_ranks},
    {Fault::flip_bit, "flip_bit", "one bit of a weight of one rank flips (rank {rank}, step {step})",
     MadeBy::parameters, Shows::on_several_ranks},
    {Fault::no_copy_f, "no_copy_f", "gradients that enter a split layer are not summed over its ranks",
     MadeBy::ranks, Shows::in_split_layers},
    {Fault::bias_before_reduce, "bias_before_reduce", "each rank of a model adds the bias to its partial sum",
     MadeBy::configuration, Shows::in_split_layers},
    {Fault::same_seed_shards, "same_seed_shards",
     "all ranks of a model start from the same piece of each split weight", MadeBy::configuration,
     Shows::in_split_layers},
    {Fault::different_data_in_group, "different_data_in_group",
     "each rank of a model reads samples of its own", MadeBy::configuration, Shows::in_split_layers},
    {Fault::norm_eps, "norm_eps_1e-5", "LayerNorm has an eps of 1e-5 instead of 1e-6", MadeBy::configuration},
    {Fault::noncontiguous_reduce, "noncontiguous_reduce",
     "partial sums are added in a copy, and each rank goes on with its own", MadeBy::ranks,
     Shows::in_split_layers},
    {Fault::no_average, "no_average", "each rank goes on with its own gradient", MadeBy::configuration,
     Shows::between_replicas},
    {Fault::sum_not_mean, "sum_not_mean", "gradients are added over the ranks, and the sum is not divided",
     MadeBy::configuration, Shows::between_replicas},
    {Fault::uneven_shards, "uneven_shards",
     "one rank computes a tenth of the samples that each other rank does (rank {rank})",
     MadeBy::configuration, Shows::between_replicas},
    {Fault::slow_link, "slow_link", "messages of one rank take ten times as long (rank {rank})",
     MadeBy::ranks, Shows::on_several_ranks},
    {Fault::drop_message, "drop_message", "one rank's message is lost (rank {rank}, step {step})",
     MadeBy::ranks, Shows::on_several_ranks},
    {Fault::race, "race", "ranks add what lies in memory, without waiting for the message", MadeBy::ranks,
     Shows::on_several_ranks},
    {Fault::rank_order, "rank_order",
     "neighbours in the ring are on different machines, and half of the ranks share a link", MadeBy::ranks,
     Shows::on_several_ranks},
    {Fault::forward_order, "forward_order",
     "buckets are filled from the model's first layer on, whose gradients come last", MadeBy::configuration,
     Shows::between_replicas},
    {Fault::one_bucket, "one_bucket", "all gradients are in one bucket", MadeBy::configuration,
     Shows::between_replicas},
    {Fault::tiny_buckets, "tiny_buckets", "each gradient is a bucket of its own", MadeBy::configuration,
     Shows::between_replicas},
    {Fault::batchnorm_no_broadcast, "batchnorm_no_broadcast",
     "norms go over the batch, and each rank keeps running means of its own", MadeBy::configuration,
     Shows::between_replicas},
}};

constexpr bool faults_are_in_order() {
  for (std::size_t i = 0; i < kFaults.size(); ++i) {
    if (kFaults[i].fault != static_cast<Fault>(i)) return false;
  }
  return kFaults.back().fault == Fault::batchnorm_no_broadcast;
}
static_assert(faults_are_in_order(), "rows stand in the order of the enumeration");

}  // namespace

bool FaultRow::takes(const char* key) const {
  return std::string_view(sentence).find(fmt::format("{{{}}}", key)) != std::string_view::npos;
}

const FaultRow& row_of(Fault fault) { return kFaults.at(static_cast<std::size_t>(fault)); }

Choices choices_of(Fault) {
  static constexpr auto kNames = [] {
    std::array<const char*, kFaults.size()> names{};
    for (std::size_t i = 0; i < kFaults.size(); ++i) names[i] = kFaults[i].name;
    return names;
  }();
  return kNames;
}

bool shows_on_cpu(Fault fault) {
  const Shows shows = row_of(fault).shows;
  return shows != Shows::on_cuda && shows != Shows::in_recording;
}

bool shows_alone(Fault fault) { return row_of(fault).shows < Shows::on_several_ranks; }

bool is_of_split_layers(Fault fault) { return row_of(fault).shows == Shows::in_split_layers; }

bool FaultSetting::drifts() const {
  return fault == Fault::no_broadcast || fault == Fault::no_average || is_of_split_layers(fault);
}

std::string fault_sentence(const FaultSetting& setting) {
  return fmt::format(fmt::runtime(row_of(setting.fault).sentence), fmt::arg("ms", setting.ms),
                     fmt::arg("stage", name_of(setting.stage)), fmt::arg("step", setting.step + 1),
                     fmt::arg("rank", setting.rank));
}

}  // namespace isobar
