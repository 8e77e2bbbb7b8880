#include "config/with_fault.h"

#include <algorithm>
#include <map>

#include "core/processors.h"

namespace isobar {
namespace {

using Change = void (*)(Config& config, const FaultSetting& setting);

constexpr std::int64_t kSlowDisk_mb_per_s = 290;
constexpr double kCommonUnits = 1e5;               // dividing by 1 would overflow the first step
constexpr double kScaleTooHigh = 1099511627776.0;  // 2^40
constexpr std::int64_t kWorkersPerProcessor = 8;
constexpr std::int64_t kSmallShard = 10;
constexpr double kOneBucket_mb = 1e6;
constexpr double kTinyBucket_mb = 1e-6;

// One change a line, as in a table.
// clang-format off
const std::map<Fault, Change> kChanges = {
    {Fault::no_shuffle, [](Config& c, const FaultSetting&) { c.data.shuffle = false; }},
    {Fault::no_normalise, [](Config& c, const FaultSetting&) { c.data.divide_by = kCommonUnits; }},
    {Fault::slow_disk, [](Config& c, const FaultSetting&) { c.data.throttle_mb_per_s = kSlowDisk_mb_per_s; }},
    {Fault::train_on_valid, [](Config& c, const FaultSetting&) { c.data.train_folder = "valid"; }},
    {Fault::slow_loader, [](Config& c, const FaultSetting& fault) { c.data.late_ms = fault.ms; }},
    {Fault::slow_worker, [](Config& c, const FaultSetting& fault) {
       c.data.late_ms = fault.ms;
       c.data.one_thread_late = true;
     }},
    {Fault::same_seed_workers, [](Config& c, const FaultSetting&) {
       c.data.repeats = std::max<std::int64_t>(1, c.data.workers);
     }},
    {Fault::respawn, [](Config& c, const FaultSetting&) { c.data.persistent = false; }},
    {Fault::pageable, [](Config& c, const FaultSetting&) { c.data.pin_memory = false; }},
    {Fault::oversubscribe, [](Config& c, const FaultSetting&) {
       c.data.workers = kWorkersPerProcessor * usable_cores();
     }},
    {Fault::default_stream_copy, [](Config& c, const FaultSetting&) { c.loader.side_stream = false; }},
    {Fault::no_event, [](Config& c, const FaultSetting&) { c.loader.awaits_upload = false; }},
    {Fault::one_slot, [](Config& c, const FaultSetting&) { c.loader.slots = 1; }},
    {Fault::host_normalise, [](Config& c, const FaultSetting&) { c.loader.normalise = NormalisedOn::host; }},
    {Fault::same_shard, [](Config& c, const FaultSetting&) { c.data.shard.own = false; }},
    {Fault::no_set_epoch, [](Config& c, const FaultSetting&) { c.data.shard.by_epoch = false; }},
    {Fault::different_data_in_group, [](Config& c, const FaultSetting& fault) { c.data.seed += fault.own_rank; }},
    {Fault::wrong_unpatch, [](Config& c, const FaultSetting&) { c.model.channels_last = false; }},
    {Fault::norm_eps, [](Config& c, const FaultSetting&) { c.model.norm_eps = 1e-5; }},
    {Fault::math_attention, [](Config& c, const FaultSetting&) { c.model.attention = AttentionKind::math; }},
    {Fault::tanh_gelu, [](Config& c, const FaultSetting&) { c.fusion.tanh_gelu = true; }},
    {Fault::unfused_adam, [](Config& c, const FaultSetting&) { c.fusion.adam = false; }},
    {Fault::no_scaler, [](Config& c, const FaultSetting&) { c.amp.scales_loss = false; }},
    {Fault::scale_too_high, [](Config& c, const FaultSetting&) { c.amp.init_scale = kScaleTooHigh; }},
    {Fault::item_in_capture, [](Config& c, const FaultSetting&) { c.graph.fetches_loss = true; }},
    {Fault::stale_input, [](Config& c, const FaultSetting&) { c.graph.renews_batch = false; }},
    {Fault::no_warmup, [](Config& c, const FaultSetting&) { c.graph.warmup = 0; }},
    {Fault::lr_baked_in, [](Config& c, const FaultSetting&) { c.graph.renews_rate = false; }},
    {Fault::lr_unscaled, [](Config& c, const FaultSetting&) { c.schedule.lr_rule = LrRule::none; }},
    {Fault::sum_gradients, [](Config& c, const FaultSetting&) { c.comm.divides = false; }},
    {Fault::sum_not_mean, [](Config& c, const FaultSetting&) { c.comm.divides = false; }},
    {Fault::no_average, [](Config& c, const FaultSetting&) { c.comm.sync = SyncKind::none; }},
    {Fault::uneven_shards, [](Config& c, const FaultSetting& fault) {
       if (!fault.strikes_here()) return;
       const std::int64_t own = c.train.global_batch / c.run.ranks;
       c.train.global_batch = std::max<std::int64_t>(1, own / kSmallShard) * c.run.ranks;
     }},
    {Fault::forward_order, [](Config& c, const FaultSetting&) { c.comm.bucket_order = BucketOrder::forward; }},
    {Fault::one_bucket, [](Config& c, const FaultSetting&) {
       c.comm.bucket_mb = c.comm.first_bucket_mb = kOneBucket_mb;
     }},
    {Fault::tiny_buckets, [](Config& c, const FaultSetting&) { c.comm.bucket_mb = kTinyBucket_mb; }},
    {Fault::batchnorm_no_broadcast, [](Config& c, const FaultSetting&) {
       c.model.norm = NormKind::batch;
       c.comm.broadcast_buffers = false;
     }},
    {Fault::bias_before_reduce, [](Config& c, const FaultSetting&) { c.mesh.bias_behind_sum = false; }},
    {Fault::same_seed_shards, [](Config& c, const FaultSetting&) { c.mesh.draws_own_piece = false; }},
};
// clang-format on

}  // namespace

Config with_fault(Config config, const FaultSetting& fault) {
  if (row_of(fault.fault).made_by == MadeBy::configuration) kChanges.at(fault.fault)(config, fault);
  return config;
}

}  // namespace isobar
