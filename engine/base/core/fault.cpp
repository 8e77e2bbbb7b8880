#include "core/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

FaultSetting current;

constexpr std::array<const char*, 53> kSentences = {
    "",
    "gradients are never set to zero, so those of all steps pile up",
    "samples come in the same order every epoch",
    "fields are not normalised, only divided by 100,000",
    "the loss is fetched from the device in every step",
    "the outputs of a token are put back in the wrong order (c, p, q)",
    "reading is held to 290 MB/s",
    "training uses the samples of the validation set",
    "a stage is made slower",
    "a weight becomes NaN",
    "a gradient becomes NaN",
    "each batch takes longer to read",
    "each batch that the first worker reads takes longer",
    "all workers draw the same order, so each sample comes as often as there are workers",
    "workers end with each epoch and are started again for the next",
    "batches lie in memory that is not page-locked",
    "eight workers for each processor",
    "uploads wait in line with the kernels",
    "a batch is used before it has arrived on the device",
    "the ring has one slot",
    "fields are normalised before the upload, by the threads that read",
    "fp16 without loss scaling, so small gradients become zero",
    "weights have 16 bits and no float32 copy, so small updates vanish",
    "a gradient becomes infinite",
    "the loss scale starts at 2^40, so the first steps overflow",
    "fused GELU has its tanh form, which is another function",
    "Adam works in plain operations, a pass each",
    "attention writes its N x N matrix to memory",
    "the gap behind the tensors of the gradient buffer holds a NaN",
    "the loss is fetched while the graph is recorded",
    "the graph is replayed without the new batch",
    "the very first step is recorded",
    "the learning rate of the recorded step holds for ever",
    "each rank starts from weights of its own",
    "all ranks read the samples of rank 0",
    "every epoch has the order of the first",
    "gradients are added over the ranks and not divided",
    "schedule.lr_rule is ignored",
    "one rank is slower in its backward pass",
    "one rank computes twice as much as the others",
    "only rank 0 writes a stream",
    "one rank is killed",
    "one rank stops answering",
    "one rank sends a value less than the others",
    "one rank swaps two collectives",
    "one rank calls a collective more",
    "one bit of a weight of one rank flips",
    "gradients that enter a split layer are not summed over its ranks",
    "each rank of a model adds the bias to its partial sum",
    "all ranks of a model start from the same piece of each split weight",
    "each rank of a model reads samples of its own",
    "LayerNorm has an eps of 1e-5 instead of 1e-6",
    "partial sums are added in a copy, and each rank goes on with its own"};

}  // namespace

const std::vector<std::string>& fault_names() {
  static const std::vector<std::string> kNames = {"none",
                                                  "no_zero_grad",
                                                  "no_shuffle",
                                                  "no_normalise",
                                                  "sync_each_step",
                                                  "wrong_unpatch",
                                                  "slow_disk",
                                                  "train_on_valid",
                                                  "slow_stage",
                                                  "nan_weight",
                                                  "nan_gradient",
                                                  "slow_loader",
                                                  "slow_worker",
                                                  "same_seed_workers",
                                                  "respawn",
                                                  "pageable",
                                                  "oversubscribe",
                                                  "default_stream_copy",
                                                  "no_event",
                                                  "one_slot",
                                                  "host_normalise",
                                                  "no_scaler",
                                                  "all_half",
                                                  "inject_inf",
                                                  "scale_too_high",
                                                  "tanh_gelu",
                                                  "unfused_adam",
                                                  "math_attention",
                                                  "nan_in_padding",
                                                  "item_in_capture",
                                                  "stale_input",
                                                  "no_warmup",
                                                  "lr_baked_in",
                                                  "no_broadcast",
                                                  "same_shard",
                                                  "no_set_epoch",
                                                  "sum_gradients",
                                                  "lr_unscaled",
                                                  "slow_rank",
                                                  "unequal_batch",
                                                  "rank0_log_only",
                                                  "kill_rank",
                                                  "stop_rank",
                                                  "other_shape",
                                                  "other_order",
                                                  "extra_collective",
                                                  "flip_bit",
                                                  "no_copy_f",
                                                  "bias_before_reduce",
                                                  "same_seed_shards",
                                                  "different_data_in_group",
                                                  "norm_eps_1e-5",
                                                  "noncontiguous_reduce"};
  return kNames;
}

void set_fault(const std::string& name, std::int64_t ms, const std::string& stage, std::int64_t step,
               std::int64_t rank, std::int64_t own_rank) {
  const auto found = std::find(fault_names().begin(), fault_names().end(), name);
  if (found == fault_names().end()) {
    throw Error("there is no fault \"" + printable(name, 40) + "\"", "run.fault", join(fault_names(), ", "));
  }
  current = {static_cast<Fault>(found - fault_names().begin()), ms, stage, step, rank, own_rank};
}

const FaultSetting& fault_setting() { return current; }

bool has_fault(Fault fault) { return current.fault == fault; }

bool shows_on_cpu(Fault fault) {
  return fault != Fault::pageable && fault != Fault::default_stream_copy && fault != Fault::no_event &&
         fault != Fault::host_normalise && (fault < Fault::item_in_capture || fault > Fault::lr_baked_in);
}

bool shows_alone(Fault fault) {
  return fault < Fault::no_broadcast || fault == Fault::no_set_epoch || fault == Fault::lr_unscaled ||
         fault == Fault::norm_eps;
}

bool is_of_split_layers(Fault fault) { return fault >= Fault::no_copy_f && fault != Fault::norm_eps; }

std::string fault_sentence(const FaultSetting& setting) {
  if (setting.fault == Fault::slow_stage)
    return fmt::format("{} ms are added to the stage {}", setting.ms, setting.stage);
  if (setting.fault == Fault::slow_loader || setting.fault == Fault::slow_worker)
    return fmt::format("{} ({} ms)", kSentences[static_cast<std::size_t>(setting.fault)], setting.ms);
  if (setting.fault == Fault::nan_weight || setting.fault == Fault::nan_gradient ||
      setting.fault == Fault::inject_inf || setting.fault == Fault::nan_in_padding)
    return fmt::format("{} in step {}", kSentences[static_cast<std::size_t>(setting.fault)],
                       setting.step + 1);
  const std::string sentence = kSentences[static_cast<std::size_t>(setting.fault)];
  if (setting.fault == Fault::slow_rank)
    return fmt::format("{} (rank {}, {} ms)", sentence, setting.rank, setting.ms);
  if (setting.fault == Fault::kill_rank || setting.fault == Fault::stop_rank)
    return fmt::format("{} (rank {}, stage {} of step {})", sentence, setting.rank, setting.stage,
                       setting.step + 1);
  if (setting.fault == Fault::unequal_batch) return fmt::format("{} (rank {})", sentence, setting.rank);
  if (setting.fault >= Fault::other_shape && setting.fault <= Fault::flip_bit)
    return fmt::format("{} (rank {}, step {})", sentence, setting.rank, setting.step + 1);
  return sentence;
}

}  // namespace isobar
