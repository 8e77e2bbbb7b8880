#include "formula/state_shares.h"

namespace isobar {
namespace {

constexpr double kFloat = 4;

/// Gathers of all weights in a step.
double gathers(const StateShares& shares) {
  if (shares.stage < 3) return 1;
  return static_cast<double>(shares.passes) * (shares.reshards ? 2 : 1);
}

/// Bytes of the values of one gather.
double gathered_once(double parameters, const StateShares& shares) {
  const bool in_16 = shares.gathers_16 && shares.stage > 0;
  return parameters * (in_16 ? kFloat / 2 : kFloat);
}

}  // namespace

StateShares state_shares(const Config& config) {
  const std::int64_t ranks = shard_ranks(config);
  return {.stage = config.mesh.zero,
          .ranks = ranks,
          .copies = models(config) / ranks,
          .gathers_16 = config.mesh.gather_dtype == GradBits::bits_16,
          .reshards = config.mesh.reshard,
          .offload = config.mesh.offload,
          .passes = config.train.accumulate};
}

StateBytes state_bytes(double parameters, const StateShares& shares) {
  const double whole = kFloat * parameters;
  const double share = whole / static_cast<double>(shares.ranks);
  StateBytes out{.weights = shares.stage < 3 ? whole : share,
                 .master = shares.gathers_16 && (shares.stage == 1 || shares.stage == 2) ? share : 0,
                 .gradients = shares.stage < 2 ? whole : share,
                 .moments = 2 * (shares.stage < 1 ? whole : share)};
  if (shares.stage == 0 || shares.offload == OffloadKind::none) return out;
  out.host = out.moments + 2 * share;
  out.moments = 0;
  if (shares.offload != OffloadKind::weights) return out;
  out.weights = 0;
  if (shares.gathers_16) out.host += share / 2;
  return out;
}

StateTraffic state_traffic(double parameters, const StateShares& shares) {
  const auto n = static_cast<double>(shares.ranks);
  const auto k = static_cast<double>(shares.copies);
  const double whole = kFloat * parameters;
  const auto sums = static_cast<double>(shares.stage < 2 ? 1 : shares.passes);
  return {.inside = (n - 1) / n * (sums * whole + gathers(shares) * gathered_once(parameters, shares)),
          .between = 2 * (k - 1) / k * whole / n};
}

double offload_bytes(double parameters, const StateShares& shares) {
  if (shares.stage == 0 || shares.offload == OffloadKind::none) return 0;
  const double share = kFloat * parameters / static_cast<double>(shares.ranks);
  if (shares.offload == OffloadKind::optimizer) return 2 * share;
  return share + gathers(shares) * gathered_once(parameters, shares) / static_cast<double>(shares.ranks);
}

}  // namespace isobar
