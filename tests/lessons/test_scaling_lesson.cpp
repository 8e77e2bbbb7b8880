// Lesson 12 as a learner runs it: gradient noise in its streams, what is refused, and runs that go wrong.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/files.h"
#include "formula/gradient_noise.h"
#include "lessons/rank_run.h"
#include "support/catch.h"
#include "support/says.h"
#include "support/temp_folder.h"

namespace isobar::test_scaling_lesson {

namespace fs = std::filesystem;

namespace {

ProcessResult train_scaling(const fs::path& run, const std::vector<std::string>& sets, int ranks = 2) {
  return run_ranks(ranks, run, with({"data.limit_valid=8", "comm.bucket_mb=0.1"}, sets), {}, "12_scaling");
}

const std::vector<std::string> kTwelve = {"train.steps=12", "train.noise_every=4"};

std::vector<GradientSquares> squares_of(const fs::path& run, int rank = 0) {
  std::vector<GradientSquares> out;
  for (const Json& step : of_kind(stream_of(run, rank), "step"))
    if (step.contains("local_square"))
      out.push_back({.local = step["local_square"].as_number(), .mean = step["mean_square"].as_number()});
  return out;
}

std::string weights_of(const fs::path& run) { return read_text_file(run / "weights.safetensors", 1 << 24); }

/// Losses of validation, and the mean training loss of the steps in front of each.
struct Curve {
  std::vector<double> valid, train;
};

Curve curve_of(const fs::path& run) {
  Curve out;
  double sum = 0;
  int count = 0;
  for (const Json& line : stream_of(run, 0)) {
    if (line["kind"] == "step") {
      sum += line["loss"].as_number();
      ++count;
    }
    if (line["kind"] != "eval") continue;
    if (count > 0) {
      out.valid.push_back(line["loss"].as_number());
      out.train.push_back(sum / count);
    }
    sum = count = 0;
  }
  return out;
}

/// Means of `parts` stretches of equal length.
std::vector<double> stretches(const std::vector<double>& values, std::size_t parts) {
  std::vector<double> out(parts);
  const std::size_t length = values.size() / parts;
  for (std::size_t i = 0; i < parts * length; ++i) out[i / length] += values[i] / static_cast<double>(length);
  return out;
}

}  // namespace

TEST_CASE("noise is recorded when it is due, alike on all ranks, and changes no bit of training") {
  const TempFolder folder;
  REQUIRE(train_scaling(folder / "run", kTwelve).code == 0);
  std::vector<std::int64_t> due;
  for (const Json& step : of_kind(stream_of(folder / "run", 0), "step"))
    if (step.contains("local_square")) due.push_back(step["step"].as_integer());
  CHECK(due == std::vector<std::int64_t>{3, 7, 11});
  const std::vector<GradientSquares> squares = squares_of(folder / "run");
  const std::vector<GradientSquares> others = squares_of(folder / "run", 1);
  for (std::size_t i = 0; i < squares.size(); ++i) {
    CHECK(squares[i].local > squares[i].mean);
    CHECK(squares[i].local == others.at(i).local);
    CHECK(squares[i].mean == others.at(i).mean);
  }
  const auto noise = estimate_noise(squares, 2, 2);
  REQUIRE(noise);
  CHECK(noise->scale.value > 0);
  REQUIRE(train_scaling(folder / "without", {"train.steps=12"}).code == 0);
  CHECK(weights_of(folder / "run") == weights_of(folder / "without"));
  CHECK(squares_of(folder / "without").empty());
  const auto sent = [&](const char* run, const char* key) {
    std::vector<double> out;
    for (const Json& step : of_kind(stream_of(folder / run, 0), "step")) out.push_back(step[key].as_number());
    return out;
  };
  CHECK(sent("run", "comm_calls") == sent("without", "comm_calls"));
  CHECK(sent("run", "wire_bytes") == sent("without", "wire_bytes"));
}

TEST_CASE("every way to average measures the same, also under a loss scale") {
  const TempFolder folder;
  const auto first_of = [&](const std::string& name, const std::vector<std::string>& sets) {
    REQUIRE(train_scaling(folder / name, with({"train.steps=1", "train.noise_every=1"}, sets)).code == 0);
    return squares_of(folder / name).at(0);
  };
  const GradientSquares expected = first_of("buckets", {});
  for (const char* const sync : {"at_end", "per_parameter", "reducer"}) {
    INFO(sync);
    const GradientSquares squares = first_of(sync, {std::string("comm.sync=") + sync});
    CHECK(squares.local == Approx(expected.local).epsilon(1e-6));
    CHECK(squares.mean == Approx(expected.mean).epsilon(1e-6));
  }
  const GradientSquares half = first_of("fp16", {"amp.mode=fp16", "amp.init_scale=1024"});
  CHECK(half.local == Approx(expected.local).epsilon(0.02));
  CHECK(half.mean == Approx(expected.mean).epsilon(0.02));
}

TEST_CASE("ranks with samples of one rank, and lengths behind the mean, show no noise") {
  const TempFolder folder;
  for (const std::string fault : {"noise_after_mean", "same_shard"}) {
    INFO(fault);
    REQUIRE(train_scaling(folder / fault, with(kTwelve, {"run.fault=" + fault})).code == 0);
    const auto noise = estimate_noise(squares_of(folder / fault), 2, 2);
    REQUIRE(noise);
    CHECK(noise->variance.value == Approx(0).margin(1e-6 * noise->gradient_square.value));
  }
  REQUIRE(train_scaling(folder / "right", {"train.steps=12"}).code == 0);
  CHECK(weights_of(folder / "noise_after_mean") == weights_of(folder / "right"));
}

TEST_CASE("a run that is stopped continues with its noise, or with another interval") {
  const TempFolder folder;
  for (const std::string every : {"4", "3"}) {
    const fs::path run = folder / every;
    REQUIRE(train_scaling(run, with(kTwelve, {"train.checkpoint_every=6"})).code == 0);
    const std::vector<GradientSquares> whole = squares_of(run);
    const std::string weights = weights_of(run);
    fs::remove_all(run / "checkpoints/step-000012");
    const ProcessResult resumed = resume_ranks(2, run, {"train.noise_every=" + every}, "12_scaling");
    INFO(resumed.out << resumed.err);
    REQUIRE(resumed.code == 0);
    CHECK(weights_of(run) == weights);
    const std::vector<GradientSquares> both = squares_of(run);  // steps 8 and 12 again, or 9 and 12
    REQUIRE(both.size() == 5);
    CHECK(both.back().local == whole.back().local);
    CHECK((both[3].local == whole[1].local) == (every == "4"));
  }
}

TEST_CASE("what cannot be measured is refused") {
  const TempFolder folder;
  const auto refused = [&](const std::vector<std::string>& sets, int ranks, const char* what,
                           const char* hint) {
    const ProcessResult result = train_scaling(folder / "run", sets, ranks);
    INFO(sets.front() << result.err);
    CHECK(result.code == 2);
    CHECK_THAT(result.err, says(what) && says(hint));
    CHECK_FALSE(fs::exists(folder / "run/weights.safetensors"));
    fs::remove_all(folder / "run");
  };
  refused({"train.noise_every=-1"}, 2, "train.noise_every", "at least 0");
  refused({"train.noise_every=often"}, 2, "train.noise_every", "an integer");
  refused({"train.noise_every=2"}, 1, "gradients of two batches", "--ranks 2");
  refused({"train.noise_every=2", "comm.sync=none"}, 2, "makes none", "comm.sync=buckets");
  refused({"run.fault=noise_after_mean"}, 2, "train.noise_every is 0", "train.noise_every=1");
  refused({"run.fault=noise_after_mean"}, 1, "several ranks", "--ranks 2");
}

TEST_CASE("a large rate without warm-up diverges, and one that warm-up tames learns") {
  const TempFolder folder;
  const auto scores = [&](const std::string& name, const std::vector<std::string>& sets) {
    REQUIRE(train_scaling(folder / name, with({"schedule.kind=constant"}, sets)).code == 0);
    const std::vector<Json> evaluations = of_kind(stream_of(folder / name, 0), "eval");
    return std::pair{evaluations.front()["loss"].as_number(), evaluations.back()["loss"].as_number()};
  };
  const auto [untrained, diverged] = scores("diverges", {"optim.lr=1", "train.steps=32"});
  CHECK(diverged > 1.5 * untrained);
  const double steep = scores("steep", {"optim.lr=0.1", "train.steps=64"}).second;
  const double warmed =
      scores("warmed", {"optim.lr=0.1", "train.steps=64", "schedule.warmup_steps=48"}).second;
  INFO(untrained << " " << diverged << " " << steep << " " << warmed);
  CHECK(warmed < 0.8 * steep);
  CHECK(warmed < 0.8 * untrained);
}

TEST_CASE("few samples and many epochs overfit", "[.nightly]") {
  const TempFolder folder;
  const std::vector<std::string> few = {"data.limit_train=8", "train.global_batch=2",
                                        "optim.lr=4e-3",      "train.steps=600",
                                        "data.grid=[48, 96]", "data.root=" + data().string()};
  REQUIRE(train_scaling(folder / "run", few).code == 0);
  const Curve curve = curve_of(folder / "run");
  REQUIRE(curve.valid.size() == 150);
  // Means of 25 evaluations: one alone goes up and down.
  const std::vector<double> valid = stretches(curve.valid, 6), train = stretches(curve.train, 6);
  CHECK(std::is_sorted(train.rbegin(), train.rend()));
  CHECK(std::is_sorted(valid.end() - 4, valid.end()));
  CHECK(valid.back() > 1.01 * valid[2]);
  CHECK(train.back() < 0.7 * train[2]);
}

}  // namespace isobar::test_scaling_lesson
