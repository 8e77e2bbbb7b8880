#pragma once
// What groups of ranks read and send a step: ranks of a model that read fields together (data.read_group),
// models that forecast the members of one ensemble (mesh.gpus_per_ensemble). In bytes of float32.
#include <cstdint>
#include <vector>

#include "config/config.h"

namespace isobar {

/// float32 of one sample's field [C, H, W].
double field_bytes(const Config& config);

/// Fields of a sample: its input and train.rollout targets.
std::int64_t fields_of_sample(const Config& config);

/// Samples that a model trains on in a step, in all passes: train.global_batch / replicas.
std::int64_t samples_of_model(const Config& config);

/// What anemoi calls the effective batch, by its parts: loader batch x replicas x accumulate =
/// train.global_batch.
struct EffectiveBatch {
  std::int64_t loader_batch = 0;
  std::int64_t replicas = 1;
  std::int64_t accumulate = 1;
  std::int64_t total() const { return loader_batch * replicas * accumulate; }
};
EffectiveBatch effective_batch(const Config& config);

/// One rank's part, with read groups of g = data.read_group ranks. All ranks of a group get whole fields.
struct ReadTraffic {
  /// Read: 1/g of samples x fields x 4 C H W. Less where samples share fields (loader.share_fields), and none
  /// in a step with data.source = memory.
  double file_bytes = 0;
  double gather_bytes = 0;  ///< sent, as much to each of g - 1 ranks
  std::int64_t gathers = 0;
  double whole_bytes = 0;  ///< the batch, as each rank has it in the end
};
ReadTraffic read_traffic(const Config& config);
/// With another data.read_group.
ReadTraffic read_traffic(Config config, std::int64_t read_group);

/// What reading and gathering depend on: each rank reads `file_bytes_per_s` while the others do, and sends
/// `link_bytes_per_s`, with `latency_us` for each message of a ring. A rate of 0 takes no time.
struct ReadRates {
  double file_bytes_per_s = 0;
  double link_bytes_per_s = 0;
  double latency_us = 0;
};
/// Seconds that one rank's fields of a step take.
double read_seconds(const ReadTraffic& traffic, std::int64_t read_group, const ReadRates& rates);

/// The divisor of the ranks of a model, and of the grid's rows, with the least read_seconds; of equal ones
/// the smallest.
std::int64_t best_read_group(const Config& config, const ReadRates& rates);
/// All read groups that there could be: divisors of ranks_of_model that divide the grid's rows.
std::vector<std::int64_t> read_groups(const Config& config);

/// What a rank sends for the loss of an ensemble. With k models of an ensemble each has M/k members
/// of b samples, and all get all M: (k - 1)/k M b 4 C H W for each forecast of a rollout, forward only.
struct EnsembleTraffic {
  double gather_bytes = 0;
  std::int64_t gathers = 0;
  double forecasts_bytes = 0;  ///< M b 4 C H W, all members as the loss has them at a time
};
EnsembleTraffic ensemble_traffic(const Config& config);

}  // namespace isobar
