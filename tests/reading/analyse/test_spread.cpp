#include <cmath>
#include <random>

#include "analyse/figure.h"
#include "analyse/spread.h"
#include "analyse/steady.h"
#include "core/files.h"
#include "core/json.h"
#include "log/number_table.h"
#include "support/catch.h"
#include "support/says.h"

namespace isobar::test_spread {

namespace {

Compared compared(const std::vector<double>& one, const std::vector<double>& other) {
  return compare(Spread(one), Spread(other)).value();
}

Direction direction(const std::vector<double>& one, const std::vector<double>& other) {
  return compared(one, other).direction;
}

/// samples/s of equal runs, made one after the other; how and where the file says.
std::vector<double> recorded_rates(const char* which) {
  const Json all =
      Json::parse(read_text_file(project_home() / "tests/reading/analyse/equal_runs.json", 1 << 20));
  std::vector<double> out;
  for (const Json& rate : all.at(which).values()) out.push_back(rate.as_number());
  return out;
}

/// Values of a generator that is the same everywhere, drawn from `from` without putting back.
std::vector<double> drawn(std::vector<double> from, std::size_t count, std::mt19937_64& random) {
  for (std::size_t i = 0; i < count; ++i) std::swap(from[i], from[i + random() % (from.size() - i)]);
  from.resize(count);
  return from;
}

std::vector<double> times(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

}  // namespace

TEST_CASE("a spread knows its middle and its quarters") {
  const Spread five({5, 1, 3, 2, 4});
  CHECK(five.median() == 3);
  CHECK(five.least() == 1);
  CHECK(five.most() == 5);
  CHECK(five.range() == Approx(2));
  CHECK(Spread({1, 2}).median() == Approx(1.5));
  CHECK(Spread({7}).range() == 0);
  CHECK(Spread().median() == 0);
  CHECK(Spread({1, std::nan("")}).values.size() == 1);
}

TEST_CASE("two cases differ when the interval of their ratio does not hold 1 and the difference matters") {
  const Compared faster = compared({148, 150, 152}, {99, 100, 101});
  CHECK(faster.direction == Direction::more);
  CHECK(faster.ratio == Approx(1.5).epsilon(0.001));
  // By hand: logarithms of variance 1.8e-4 and 1e-4, so an error of 0.0097 with 3.7 degrees of freedom.
  CHECK(faster.low == Approx(1.459).epsilon(0.002));
  CHECK(faster.high == Approx(1.542).epsilon(0.002));
  CHECK(faster.repeats_needed == 0);
  CHECK(direction({99, 100, 101}, {148, 150, 152}) == Direction::less);
  CHECK(direction({90, 100, 110}, {95, 105, 115}) == Direction::same);
  CHECK(direction({100, 100, 100}, {100, 100, 100}) == Direction::same);
  CHECK(direction({101.9, 101.9, 101.9}, {100, 100, 100}) == Direction::same);  // sure, and does not matter
  CHECK(direction({102.1, 102.1, 102.1}, {100, 100, 100}) == Direction::more);
}

TEST_CASE("swapping two cases inverts their ratio") {
  const Compared there = compared({70, 75, 83}, {52, 50, 49, 55});
  const Compared back = compared({52, 50, 49, 55}, {70, 75, 83});
  CHECK(there.ratio * back.ratio == Approx(1));
  CHECK(there.low * back.high == Approx(1));
  CHECK(there.direction == Direction::more);
  CHECK(back.direction == Direction::less);
}

TEST_CASE("wrong sentences of before: a jumpy case that was the same, and a factor of single runs") {
  // Reading alone was 115 times as fast, and called the same because it jumped by more than that.
  const Compared reading = compared({1150.9, 2900, 4613.6}, {6.8, 25.2, 48.4});
  CHECK(reading.direction == Direction::more);
  CHECK(reading.low > 10);
  CHECK(direction({6.8, 25.2, 48.4}, {1150.9, 2900, 4613.6}) == Direction::less);
  // Two runs that differed in their learning rate were 1.28 x apart.
  const Compared single = compared({128}, {100});
  CHECK(single.direction == Direction::unknown);
  CHECK(ratio_text(single) == "cannot tell");
  CHECK(ratio_sentence(single) == "cannot tell: 3 repeats of each are needed");
  Json json = Json::object();
  add_to(json, single);
  CHECK(json.text() == R"({"direction":"unknown","repeats_needed":3})");
}

TEST_CASE("few repeats are told apart only beyond what repeats were ever recorded to differ by") {
  const auto told = [](const std::vector<double>& one, const std::vector<double>& other) {
    return compare(Spread(one), Spread(other), 2.56).value();
  };
  const Compared far = told({191.3}, {20.4});
  CHECK(far.direction == Direction::more);
  CHECK(far.is_of_few);
  CHECK(far.repeats_needed == 0);
  CHECK(far.ratio == Approx(191.3 / 20.4));
  CHECK(far.half() == 0);
  CHECK(ratio_text(far) == "about x9.4");
  CHECK(ratio_sentence(far) == "about 9.4 times (from fewer than 3 repeats)");
  Json json = Json::object();
  add_to(json, far);
  CHECK_THAT(json.text(), says(R"("direction":"more")") && says(R"("of_few_repeats":true)") && !says("low"));
  CHECK(told({20.4}, {191.3}).direction == Direction::less);
  CHECK(ratio_text(told({20.4}, {191.3})) == "about x0.11");
  CHECK(told({128}, {100}).direction == Direction::unknown);
  CHECK(told({256}, {100}).direction == Direction::unknown);          // no further than it must be
  CHECK(told({100, 400}, {50, 60}).direction == Direction::unknown);  // the nearest two are 1.7 times apart
  CHECK(told({300, 400}, {50, 60}).direction == Direction::more);
  CHECK_FALSE(told({148, 150, 152}, {9, 10, 11}).is_of_few);  // enough of them have an interval
  CHECK(direction({191.3}, {20.4}) == Direction::unknown);    // where no record tells
}

TEST_CASE("what repeats differ by at most is the largest ratio of all records") {
  double processors = 1, gpu = 1;
  for (const char* const which : {"quiet", "beside_load"}) {
    const Spread rates(recorded_rates(which));
    processors = std::max(processors, rates.most() / rates.least());
  }
  const auto json_of = [](const char* path) {
    return Json::parse(read_text_file(project_home() / path, 1 << 20));
  };
  const Json telemetry = json_of("tests/bench/results/telemetry.json");
  for (const Json& row : telemetry.at("rows").values()) {
    if (row.at("case").as_text() == "the step, with it")
      processors = std::max(processors, row.at("most").as_number() / row.at("least").as_number());
  }
  const NumberTable sizes =
      read_number_table(project_home() / "lessons/10_buckets/recorded/bucket_sizes.csv");
  for (const std::vector<double>& row : sizes.rows)
    processors = std::max(processors, row[sizes.column("most_ms")] / row[sizes.column("least_ms")]);
  CHECK(processors > 1.5);
  const std::string page = read_text_file(project_home() / "docs/measuring.md", 1 << 20);
  CHECK_THAT(page, says("| synthetic | 47.7 | 90.2 | 95 %, 42 to 107 |"));
  processors = std::max(processors, std::sqrt(107.0 / 42));  // of two points together
  for (const char* const file : {"rungs-1.json", "rungs-16.json"}) {
    const Json all = json_of((std::string("tests/bench/results/h200/") + file).c_str());
    for (const Json& row : all.at("rows").values()) {
      if (row.at("case").as_text().ends_with(", step"))
        gpu = std::max(gpu, row.at("ours_max").as_number() / row.at("ours_min").as_number());
    }
  }
  CHECK(processors == Approx(kProcessorsApart).margin(0.005));
  CHECK(gpu == Approx(kGpuApart).margin(0.005));
  CHECK_THAT(page, says("more than 2.56 times on processors, more than 1.66 on a GPU"));
}

TEST_CASE("a record tells of the machine of a run, and of none beside other programs") {
  RunView processors, gpu, unnamed;
  processors.device = "cpu";
  gpu.device = "NVIDIA H200";
  CHECK(far_apart(processors, processors) == Approx(2.56));
  CHECK(far_apart(gpu, gpu) == Approx(1.6641));
  CHECK(far_apart(gpu, processors) == Approx(1.29 * 1.6));
  CHECK(far_apart(unnamed, unnamed) == far_apart(processors, processors));
  gpu.summary.processor_wait = 0.5;
  CHECK(far_apart(gpu, processors) == 0);
  SteadyFigures quiet, busy;
  quiet.view = processors;
  busy.view = gpu;
  CHECK(far_apart(Repeats{quiet, busy}, Repeats{quiet}) == 0);
  CHECK(far_apart(Repeats{}, Repeats{quiet}) == 0);
  CHECK(far_apart(Repeats{quiet}, Repeats{quiet}) == Approx(2.56));
}

TEST_CASE("few repeats, none, and values without a logarithm tell nothing") {
  CHECK(direction({100, 101}, {200, 201, 202}) == Direction::unknown);
  CHECK(direction({100, 101, 102}, {200, 201}) == Direction::unknown);
  CHECK_FALSE(compare(Spread(), Spread({1, 2, 3})));
  CHECK_FALSE(compare(Spread({1, 2, 3}), Spread()));
  CHECK_FALSE(compare(Spread({0, 1, 2}), Spread({1, 2, 3})));
  CHECK_FALSE(compare(Spread({1, 2, 3}), Spread({-1, 2, 3})));
}

TEST_CASE("what is not sure says how many repeats would tell") {
  const Compared wide = compared({80, 100, 125}, {70, 90, 110});
  CHECK(wide.direction == Direction::same);
  CHECK(wide.repeats_needed > 10);
  CHECK(wide.repeats_needed < kMostRepeatsNeeded);
  CHECK_THAT(ratio_sentence(wide), says("the same (0.6") && says("repeats of each would confirm"));
  const Compared hopeless = compared({50, 100, 200}, {50, 97, 200});
  CHECK(hopeless.repeats_needed == 0);  // less than matters
  CHECK(compared({50, 105, 200}, {50, 95, 200}).repeats_needed == kMostRepeatsNeeded);
  CHECK_THAT(ratio_sentence(compared({50, 105, 200}, {50, 95, 200})), says("100 or more repeats of each"));
}

TEST_CASE("of equal runs at most one pair in twenty is called different") {
  std::mt19937_64 random(20);
  for (const char* const which : {"quiet", "beside_load"}) {
    const std::vector<double> rates = recorded_rates(which);
    REQUIRE(rates.size() >= 120);
    int resampled = 0;
    for (int pair = 0; pair < 100; ++pair) {
      const std::vector<double> both = drawn(rates, 6, random);
      resampled += compared({both[0], both[1], both[2]}, {both[3], both[4], both[5]}).is_same() ? 0 : 1;
    }
    CHECK(resampled <= 5);
    int in_turn = 0;  // as they were run: A B A B A B
    for (std::size_t i = 0; i < 120; i += 6)
      in_turn += compared({rates[i], rates[i + 2], rates[i + 4]}, {rates[i + 1], rates[i + 3], rates[i + 5]})
                         .is_same()
                     ? 0
                     : 1;
    INFO(which << ": " << resampled << " of 100 drawn, " << in_turn << " of 20 as run");
    CHECK(in_turn <= 1);
  }
}

TEST_CASE("of runs that differ, the share that is told grows with difference and repeats") {
  std::mt19937_64 random(30);
  const std::vector<double> rates = recorded_rates("quiet");
  const auto told = [&](double factor, std::size_t repeats) {
    int out = 0;
    for (int pair = 0; pair < 200; ++pair) {
      std::vector<double> both = drawn(rates, 2 * repeats, random);
      const auto middle = both.begin() + static_cast<std::ptrdiff_t>(repeats);
      const Direction found = direction(times({both.begin(), middle}, factor), {middle, both.end()});
      CHECK(found != Direction::less);
      out += found == Direction::more ? 1 : 0;
    }
    return out / 200.0;
  };
  CHECK(told(1.3, 3) > 0.95);
  CHECK(told(1.1, 5) > told(1.05, 5));
  CHECK(told(1.1, 10) >= told(1.1, 3));
}

}  // namespace isobar::test_spread
