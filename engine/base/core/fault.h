#pragma once
// Mistakes on purpose (run.fault): the engine makes them where they belong, so that a learner can see what
// each does. A run with one is marked in everything it writes.
#include <cstdint>
#include <string>
#include <vector>

namespace isobar {

enum class Fault {
  none,
  no_zero_grad,         ///< gradients of all steps pile up
  no_shuffle,           ///< the same order every epoch
  no_normalise,         ///< fields in their own units, only divided by a common 1e5: the loss hardly moves
  sync_each_step,       ///< the loss is fetched every step; on a CPU that costs nothing, on a GPU it waits
  wrong_unpatch,        ///< outputs of a token taken in the order (c, p, q): the loss falls, maps show tiles
  slow_disk,            ///< reading is held to 290 MB/s
  train_on_valid,       ///< the training samples are those of the validation set
  slow_stage,           ///< run.fault_ms more in run.fault_stage
  nan_weight,           ///< one weight becomes NaN before step run.fault_step
  nan_gradient,         ///< one gradient becomes NaN in step run.fault_step
  slow_loader,          ///< each batch takes run.fault_ms longer to read
  slow_worker,          ///< the same, in the first of the threads that read
  same_seed_workers,    ///< every worker draws the same order: samples come as often as there are workers
  respawn,              ///< workers end with each epoch and are started again
  pageable,             ///< batches are not page-locked
  oversubscribe,        ///< eight workers a processor
  default_stream_copy,  ///< uploads wait in line with the kernels
  no_event,             ///< a batch is used before it has arrived on the device
  one_slot,             ///< the ring has one slot
  host_normalise,       ///< fields are normalised before the upload, by the threads that read
  no_scaler,            ///< fp16 without loss scaling: small gradients become zero
  all_half,             ///< weights themselves in 16 bits, without a float32 copy: small updates vanish
  inject_inf,           ///< one gradient becomes infinite in step run.fault_step
  scale_too_high,       ///< the loss scale starts at 2^40: the first steps overflow
  tanh_gelu,            ///< fused GELU in its tanh form, which is another function
  unfused_adam,         ///< Adam in plain operations though the lesson fuses it
  math_attention,       ///< attention writes its N x N matrix to memory
  nan_in_padding,       ///< a NaN between the tensors of the flat gradient buffer, in step run.fault_step
  item_in_capture,      ///< the loss is fetched while the graph is recorded
  stale_input,          ///< replays without copying the new batch in: the loss does not move
  no_warmup,            ///< the first step of all is recorded, with what libraries set up in it
  lr_baked_in,          ///< the learning rate of the recorded step for ever: the schedule stops
  no_broadcast,         ///< each rank draws its own first weights and keeps them
  same_shard,           ///< all ranks read the samples of rank 0
  no_set_epoch,         ///< every epoch has the order of the first
  sum_gradients,        ///< gradients are added over ranks and not divided
  lr_unscaled,          ///< schedule.lr_rule is ignored
  slow_rank,            ///< run.fault_ms more in the backward pass of run.fault_rank
  unequal_batch,        ///< run.fault_rank computes each backward pass twice, as if it had twice the samples
  rank0_log_only,       ///< only rank 0 writes a stream
  kill_rank,            ///< run.fault_rank is killed in run.fault_stage of step run.fault_step
  stop_rank,            ///< run.fault_rank stops answering there
  other_shape,          ///< run.fault_rank sends one value less in a collective of step run.fault_step
  other_order,          ///< run.fault_rank swaps two collectives of that step
  extra_collective,     ///< run.fault_rank calls one more in that step
  flip_bit,             ///< one bit of one weight of run.fault_rank flips before step run.fault_step
  no_copy_f,            ///< gradients that enter a split layer are not summed over its ranks
  bias_before_reduce,   ///< each rank adds the bias to its partial sum: it counts mesh.tp times
  same_seed_shards,     ///< all ranks of a model draw the same piece of each split weight
  different_data_in_group,  ///< each rank of a model reads samples of its own
  norm_eps,                 ///< LayerNorm with 1e-5, the default of others, instead of 1e-6
  noncontiguous_reduce      ///< partial sums are added in a copy that nobody looks at again
};

/// Names as in the configuration, in the order of the enumeration.
const std::vector<std::string>& fault_names();

struct FaultSetting {
  Fault fault = Fault::none;
  std::int64_t ms = 30;        ///< for slow_stage, slow_loader and slow_worker
  std::string stage = "load";  ///< for slow_stage
  std::int64_t step = 0;       ///< for those that name a step
  std::int64_t rank = 1;       ///< for those that strike one rank
  std::int64_t own_rank = 0;   ///< of this process
};

/// Sets the fault of this process; called once, before anything is built. A name that is none is an Error
/// (exit code 2).
void set_fault(const std::string& name, std::int64_t ms, const std::string& stage, std::int64_t step,
               std::int64_t rank = 1, std::int64_t own_rank = 0);
const FaultSetting& fault_setting();
bool has_fault(Fault fault);

/// Whether it changes anything on a CPU too; those about uploads do not.
bool shows_on_cpu(Fault fault);

/// Whether it changes anything in a process that trains alone; those about ranks do not.
bool shows_alone(Fault fault);

/// Whether it is made where layers are split over ranks (mesh.tp of at least 2), and does nothing elsewhere.
bool is_of_split_layers(Fault fault);

/// One sentence of what the fault does; "" for none.
std::string fault_sentence(const FaultSetting& setting);

}  // namespace isobar
