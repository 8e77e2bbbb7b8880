#include "formula/group_traffic.h"

namespace isobar {

double field_bytes(const Config& config) {
  return 4.0 * static_cast<double>(config.data.channels * config.data.grid[0] * config.data.grid[1]);
}

std::int64_t fields_of_sample(const Config& config) { return 1 + config.train.rollout; }

std::int64_t samples_of_model(const Config& config) { return config.train.global_batch / replicas(config); }

EffectiveBatch effective_batch(const Config& config) {
  return {.loader_batch = samples_of_model(config) / config.train.accumulate,
          .replicas = replicas(config),
          .accumulate = config.train.accumulate};
}

ReadTraffic read_traffic(Config config, std::int64_t read_group) {
  config.data.read_group = read_group;
  return read_traffic(config);
}

ReadTraffic read_traffic(const Config& config) {
  const auto group = static_cast<double>(config.data.read_group);
  const std::int64_t fields = samples_of_model(config) * fields_of_sample(config);
  ReadTraffic out{.whole_bytes = static_cast<double>(fields) * field_bytes(config)};
  if (config.data.source != DataSource::synthetic) out.file_bytes = out.whole_bytes / group;
  if (config.data.read_group == 1) return out;
  out.gather_bytes = out.whole_bytes * (group - 1) / group;
  out.gathers = config.train.accumulate;
  return out;
}

double read_seconds(const ReadTraffic& traffic, std::int64_t read_group, const ReadRates& rates) {
  const auto part = [](double bytes, double rate) { return rate > 0 ? bytes / rate : 0; };
  const auto steps = static_cast<double>(traffic.gathers * (read_group - 1));
  return part(traffic.file_bytes, rates.file_bytes_per_s) + steps * rates.latency_us * 1e-6 +
         part(traffic.gather_bytes, rates.link_bytes_per_s);
}

std::vector<std::int64_t> read_groups(const Config& config) {
  std::vector<std::int64_t> out;
  const std::int64_t ranks = ranks_of_model(config);
  for (std::int64_t group = 1; group <= ranks; ++group)
    if (ranks % group == 0 && config.data.grid[0] % group == 0) out.push_back(group);
  return out;
}

std::int64_t best_read_group(const Config& config, const ReadRates& rates) {
  std::int64_t best = 1;
  double least = read_seconds(read_traffic(config, 1), 1, rates);
  for (const std::int64_t group : read_groups(config)) {
    const double seconds = read_seconds(read_traffic(config, group), group, rates);
    if (seconds < least) {
      least = seconds;
      best = group;
    }
  }
  return best;
}

EnsembleTraffic ensemble_traffic(const Config& config) {
  const std::int64_t all = members(config), models = models_of_ensemble(config);
  EnsembleTraffic out;
  if (all == 1) return out;
  out.forecasts_bytes = static_cast<double>(all * micro_batch(config)) * field_bytes(config);
  if (models == 1) return out;
  out.gathers = config.train.accumulate * config.train.rollout;
  out.gather_bytes = static_cast<double>(out.gathers) * out.forecasts_bytes *
                     static_cast<double>(models - 1) / static_cast<double>(models);
  return out;
}

}  // namespace isobar
