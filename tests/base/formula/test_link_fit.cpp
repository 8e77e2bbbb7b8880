// A link from the times of all-reduces of several sizes.
#include <cmath>
#include <random>

#include "formula/link_fit.h"
#include "support/catch.h"

using namespace isobar;

namespace {

const Link kLink = {.latency_us = 80, .bytes_per_us = 1250};

/// 1 KiB to 4 MiB, five times each, the times off by up to `noise`, and one of each size far too long.
std::vector<TimedSize> made_times(AllReduceKind kind, int ranks, double noise) {
  std::mt19937 random(9);
  std::uniform_real_distribution<double> off(1 - noise, 1 + noise);
  std::vector<TimedSize> out;
  for (double bytes = 1 << 10; bytes <= 4 << 20; bytes *= 4) {
    for (int i = 0; i < 5; ++i)
      out.push_back({bytes, all_reduce_us(kind, kLink, ranks, bytes) * (i == 2 ? 30 : off(random))});
  }
  return out;
}

}  // namespace

TEST_CASE("the link is found again in noisy times, for each algorithm") {
  for (const AllReduceKind kind : {AllReduceKind::naive, AllReduceKind::tree, AllReduceKind::ring}) {
    for (const int ranks : {2, 4, 7}) {
      INFO(name_of(kind) << " " << ranks);
      const auto fit = fit_link(kind, ranks, made_times(kind, ranks, 0.15));
      REQUIRE(fit);
      CHECK(fit->link.latency_us == Approx(kLink.latency_us).epsilon(0.15));
      CHECK(fit->link.bytes_per_us == Approx(kLink.bytes_per_us).epsilon(0.15));
      CHECK(fit->medians.size() == 7);
      CHECK(fit->worst > 0);
      CHECK(fit->worst < 0.3);
    }
  }
}

TEST_CASE("without noise the fit is exact, and another formula's is not") {
  std::vector<TimedSize> times;
  for (double bytes = 1 << 10; bytes <= 4 << 20; bytes *= 4)
    times.push_back({bytes, ring_all_reduce_us(kLink, 4, bytes)});
  const auto fit = fit_link(AllReduceKind::ring, 4, times);
  REQUIRE(fit);
  CHECK(fit->link.latency_us == Approx(kLink.latency_us).epsilon(1e-9));
  CHECK(fit->link.bytes_per_us == Approx(kLink.bytes_per_us).epsilon(1e-9));
  CHECK(fit->worst < 1e-9);
  const auto other = fit_link(AllReduceKind::naive, 4, times);
  REQUIRE(other);
  CHECK(other->link.bytes_per_us > 3 * kLink.bytes_per_us);
}

TEST_CASE("no part of a link is below nothing") {
  const auto steep = fit_link(AllReduceKind::ring, 2, {{1000, 1}, {2000, 4}});
  REQUIRE(steep);
  CHECK(steep->link.latency_us == 0);
  CHECK(steep->link.bytes_per_us > 0);
  const auto falling = fit_link(AllReduceKind::ring, 2, {{1000, 100}, {1'000'000, 50}});
  REQUIRE(falling);
  CHECK(falling->link.bytes_per_us == 0);  // no limit
  CHECK(falling->link.latency_us > 0);
}

TEST_CASE("one size, one rank or times that are none fit nothing") {
  CHECK_FALSE(fit_link(AllReduceKind::ring, 4, {}));
  CHECK_FALSE(fit_link(AllReduceKind::ring, 4, {{1024, 3}, {1024, 4}}));
  CHECK_FALSE(fit_link(AllReduceKind::ring, 1, made_times(AllReduceKind::ring, 4, 0)));
  CHECK_FALSE(fit_link(AllReduceKind::ring, 4, {{1024, 3}, {4096, std::nan("")}, {0, 3}, {8192, 0}}));
}
