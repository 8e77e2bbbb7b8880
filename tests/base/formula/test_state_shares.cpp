// States that ranks share out: bytes and traffic by stage, against the sums written out by hand.
#include "formula/state_shares.h"
#include "support/catch.h"

using namespace isobar;

namespace {

constexpr double kParameters = 1000;

StateShares stage(std::int64_t stage, std::int64_t ranks = 4, std::int64_t copies = 1) {
  return {.stage = stage, .ranks = ranks, .copies = copies};
}

/// In units of S (n - 1)/n.
double units(const StateShares& shares) {
  const auto n = static_cast<double>(shares.ranks);
  return state_traffic(kParameters, shares).inside / (4 * kParameters * (n - 1) / n);
}

}  // namespace

TEST_CASE("states take 16 Y, and by stage what ranks share out of them") {
  const double n = 4;
  const auto bytes = [](std::int64_t of) {
    return state_bytes(kParameters, stage(of)).on_device() / kParameters;
  };
  CHECK(bytes(0) == 16);
  CHECK(bytes(1) == 8 + 8 / n);
  CHECK(bytes(2) == 4 + 12 / n);
  CHECK(bytes(3) == 16 / n);
  for (const std::int64_t alone : {0, 1, 2, 3})
    CHECK(state_bytes(kParameters, stage(alone, 1)).on_device() == 16 * kParameters);
  // mp on four ranks: 2.53, 1.58, 1.11, 0.63 GB
  CHECK(state_bytes(157'926'400, stage(2)).on_device() / 1e9 == Approx(1.105).epsilon(0.001));
}

TEST_CASE("weights gathered in 16 bits leave a master of the own share") {
  StateShares shares = stage(2);
  shares.gathers_16 = true;
  CHECK(state_bytes(kParameters, shares).master == kParameters);
  shares.stage = 3;  // the share itself is the master
  CHECK(state_bytes(kParameters, shares).master == 0);
}

TEST_CASE("traffic by stage in one type, and with gathers in 16 bits") {
  const double one[] = {2, 2, 2, 3}, mixed[] = {2, 1.5, 1.5, 2};
  for (const std::int64_t at : {0, 1, 2, 3}) {
    StateShares shares = stage(at);
    CHECK(units(shares) == Approx(one[at]));
    shares.gathers_16 = true;
    CHECK(units(shares) == Approx(mixed[at]));
    CHECK(state_traffic(kParameters, stage(at, 1)).total() == 0);
  }
  StateShares often = stage(1);
  often.passes = 4;  // gradients add up on each rank, and travel once
  CHECK(units(often) == Approx(2));
  often.stage = 2;
  CHECK(units(often) == Approx(4 + 1));
  often.stage = 3;
  CHECK(units(often) == Approx(4 * 3));
  StateShares kept = stage(3);
  kept.reshards = false;
  CHECK(units(kept) == Approx(2));
}

TEST_CASE("groups send their share to each other") {
  const StateTraffic hybrid = state_traffic(kParameters, stage(3, 4, 8));
  CHECK(hybrid.inside == Approx(3 * 3.0 / 4 * 4 * kParameters));
  CHECK(hybrid.between == Approx(2 * 7.0 / 8 * kParameters));
  // The hierarchical all-reduce sends no more than the flat one, and a quarter of it between.
  const StateTraffic nested = state_traffic(kParameters, stage(0, 4, 8));
  const StateTraffic flat = state_traffic(kParameters, stage(0, 32, 1));
  CHECK(nested.total() == Approx(flat.total()));
  CHECK(nested.between < flat.total() / 4);
}

TEST_CASE("what lies in host memory goes down and up once a step") {
  StateShares shares = stage(1);
  shares.offload = OffloadKind::optimizer;
  CHECK(offload_bytes(kParameters, shares) == 8 * kParameters / 4);
  CHECK(state_bytes(kParameters, shares).moments == 0);
  CHECK(state_bytes(kParameters, shares).host == 16 * kParameters / 4);
  CHECK(offload_bytes(kParameters, stage(1)) == 0);
  shares.gathers_16 = true;  // the master of this rank's share stays on the device
  CHECK(state_bytes(kParameters, shares).master == 4 * kParameters / 4);
  shares.gathers_16 = false;
  shares.stage = 3;
  shares.offload = OffloadKind::weights;
  CHECK(state_bytes(kParameters, shares).weights == 0);
  CHECK(offload_bytes(kParameters, shares) == 12 * kParameters / 4);
  CHECK(state_bytes(kParameters, shares).host == 16 * kParameters / 4);
  shares.gathers_16 = true;  // rounded in front of the upload
  CHECK(offload_bytes(kParameters, shares) == 8 * kParameters / 4);
  CHECK(state_bytes(kParameters, shares).host == 18 * kParameters / 4);
}

TEST_CASE("shares of a configuration") {
  Config config;
  config.run.ranks = 16;
  config.mesh.tp = 2;
  config.mesh.zero = 3;
  CHECK(state_shares(config).ranks == 8);
  CHECK(state_shares(config).copies == 1);
  config.mesh.shard = 4;
  CHECK(state_shares(config).ranks == 4);
  CHECK(state_shares(config).copies == 2);
}
