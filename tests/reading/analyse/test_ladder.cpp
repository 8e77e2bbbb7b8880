// The rules of the ladder, on made-up runs.

#include "analyse/ladder.h"
#include "support/catch.h"
#include "support/says.h"

namespace isobar::test_ladder {

namespace {

struct Made {
  double samples_per_s = 100;
  double valid_loss = 0.5;
  std::string precision = "";
  bool emulated = false;
  double load_us = 100;
  double step_us = 1000;
};

SteadyFigures run_of(const Made& made) {
  SteadyFigures out;
  out.steps = 10;
  out.samples_per_s = made.samples_per_s;
  out.means = {{"step_us", made.step_us}, {"load_us", made.load_us}, {"copy_us", 0},
               {"forward_us", 300},       {"backward_us", 400},      {"optimize_us", 100}};
  RunSummary& summary = out.view.summary;
  summary.precision = made.precision;
  summary.emulated = made.emulated;
  summary.samples_per_s = made.samples_per_s;
  summary.flops_per_sample = 1e9;
  summary.peak_flops_per_s = 4e11;
  summary.first_loss = 1.02;
  summary.last_loss = made.valid_loss;
  summary.has_scores = true;
  summary.valid_loss = made.valid_loss;
  out.view.scores = {{.step = 128, .loss = made.valid_loss, .headline = "u10m", .rmse = made.valid_loss}};
  return out;
}

WatchedSummary watched(double gemm_us, double attention_us, double pointwise_us) {
  return {.step = 2,
          .class_us = {{"gemm", gemm_us}, {"attention", attention_us}, {"pointwise", pointwise_us}},
          .attention = {}};
}

Rung rung(const std::string& name, const std::vector<Made>& repeats,
          const WatchedSummary& step = watched(400, 200, 100)) {
  Rung out{.lesson = name};
  for (const Made& made : repeats) {
    out.repeats.push_back(run_of(made));
    out.repeats.back().view.summary.watched = step;
  }
  return out;
}

double share(const RungVerdict& verdict, Part part) { return verdict.parts[part]; }

std::vector<Made> times(double samples_per_s, double step_us = 1000) {
  return {{.samples_per_s = samples_per_s * 0.99, .step_us = step_us},
          {.samples_per_s = samples_per_s, .step_us = step_us},
          {.samples_per_s = samples_per_s * 1.01, .step_us = step_us}};
}

}  // namespace

TEST_CASE("each rung is compared with the one before it and with the first") {
  const auto out = judge_ladder(
      {rung("01", times(100)), rung("02", times(150)), Rung{.lesson = "03"}, rung("04", times(151))});
  REQUIRE(out.size() == 4);
  CHECK_FALSE(out[0].on_previous);
  CHECK_FALSE(out[0].on_baseline);
  REQUIRE(out[1].on_previous);
  CHECK(out[1].on_previous->ratio == Approx(1.5));
  CHECK(out[1].on_previous->is_told());
  CHECK(out[2].rate.empty());  // it failed, and the others are there
  CHECK_FALSE(out[2].parts.is_known());
  REQUIRE(out[3].on_previous);
  CHECK(out[3].on_previous->over == "02");
  CHECK(out[3].on_previous->is_same());  // a difference of 1 inside a spread of 1.5
  CHECK(out[3].on_baseline->ratio == Approx(1.51));
}

TEST_CASE("a single run has a rate and no factor, whichever of the two is single") {
  const std::vector<Made> once = {{.samples_per_s = 100}};
  for (const auto& [first, second] : {std::pair(once, times(128)), std::pair(times(100), once)}) {
    const auto out = judge_ladder({rung("01", first), rung("02", second)});
    CHECK_FALSE(out[1].rate.empty());
    CHECK(out[1].on_previous->direction == Direction::unknown);
    CHECK(out[1].on_baseline->direction == Direction::unknown);
  }
  const auto far = judge_ladder({rung("01", once), rung("02", {{.samples_per_s = 900}})});
  CHECK(far[1].on_previous->is_of_few);
  CHECK(ratio_text(*far[1].on_baseline) == "about x9.0");
}

TEST_CASE("a rung is compared with the last of its precision, and emulated 16 bits with nobody's gain") {
  const auto rates = [](double rate, const std::string& precision = "", bool emulated = false) {
    return std::vector<Made>(3, {.samples_per_s = rate, .precision = precision, .emulated = emulated});
  };
  const auto emulated = judge_ladder({rung("01", rates(100)), rung("03", rates(110)),
                                      rung("04", rates(80, "bf16", true)), rung("05", rates(132))});
  CHECK(emulated[2].on_previous->over == "03");
  CHECK(emulated[2].arithmetic == "fp32");
  REQUIRE(emulated[2].notes.size() == 1);
  CHECK_THAT(emulated[2].notes[0], says("bf16 is emulated") && says("lessons/04/README.md"));
  CHECK(emulated[3].on_previous->over == "03");
  CHECK(emulated[3].on_previous->ratio == Approx(1.2));
  CHECK_THAT(emulated[3].notes.at(0), says("05 is compared with 03, the last rung before it in fp32"));
  const auto native =
      judge_ladder({rung("03", rates(110)), rung("04", rates(220, "bf16")), rung("05", rates(330, "bf16")),
                    rung("06", rates(300, "bf16", true)), rung("07", rates(400, "tf32"))});
  CHECK(native[1].on_previous->over == "03");
  CHECK(native[1].notes.empty());
  CHECK(native[2].on_previous->over == "04");
  CHECK(native[4].on_previous->over == "05");  // no rung of its own type, and one that was emulated
}

TEST_CASE("MFU is of the peak of the arithmetic, and more than all of it is not told") {
  const auto out = judge_ladder(
      {rung("01", {{.samples_per_s = 100}}), rung("04", {{.samples_per_s = 500, .precision = "bf16"}})});
  CHECK(out[0].precision == "fp32");
  CHECK(out[0].notes.empty());
  REQUIRE(out[1].notes.size() == 1);
  CHECK_THAT(out[1].notes[0], says("faster than the peak of bf16"));
}

TEST_CASE("computing is split by the watched step, and what nobody computes in is host") {
  // 1000 us: load 100, computing 800 of which 700 were operators, 100 between the stages.
  const auto out = judge_ladder({rung("01", {Made{}})});
  CHECK(share(out[0], Part::data) == Approx(0.1));
  CHECK(share(out[0], Part::gemm) == Approx(0.4));
  CHECK(share(out[0], Part::attention) == Approx(0.2));
  CHECK(share(out[0], Part::memory) == Approx(0.1));
  CHECK(share(out[0], Part::host) == Approx(0.2));
  CHECK(out[0].parts.largest() == Part::gemm);
  CHECK(out[0].parts.text(2) == "GEMM 40 %, attention 20 %");
}

TEST_CASE("a CUDA device that waits for launches is bound by the host, a CPU never by its own clock") {
  Rung launches = rung("05_fusion", times(100));
  for (SteadyFigures& run : launches.repeats) {
    run.view.device = "cuda:0";
    run.means["forward_host_us"] = 300;
    run.means["backward_host_us"] = 390;
    run.means["optimize_host_us"] = 90;
  }
  CHECK(judge_ladder({launches}).front().parts.largest() == Part::host);
  for (SteadyFigures& run : launches.repeats) run.means["backward_host_us"] = 200;  // it runs ahead
  CHECK(judge_ladder({launches}).front().parts.largest() == Part::gemm);
  for (SteadyFigures& run : launches.repeats) {
    run.view.device = "cpu";
    run.means["backward_host_us"] = 400;
  }
  CHECK(judge_ladder({launches}).front().parts.largest() == Part::gemm);
}

TEST_CASE("a watched step that was slower is scaled down to the steady ones") {
  const auto out = judge_ladder({rung("01", {Made{}}, watched(800, 400, 400))});
  CHECK(share(out[0], Part::gemm) == Approx(0.4));
  CHECK(share(out[0], Part::attention) == Approx(0.2));
  CHECK(share(out[0], Part::memory) == Approx(0.2));
  CHECK(share(out[0], Part::host) == Approx(0.1));
}

TEST_CASE("what bounds a rung is its largest part") {
  const auto bound = [](const Made& made, const WatchedSummary& step) {
    return judge_ladder({rung("01", {made}, step)})[0].parts.largest();
  };
  CHECK(bound({.load_us = 2000, .step_us = 2900}, watched(400, 200, 100)) == Part::data);
  CHECK(bound({}, watched(100, 600, 100)) == Part::attention);
  CHECK(bound({}, watched(100, 100, 600)) == Part::memory);
  CHECK(bound({}, watched(100, 50, 50)) == Part::host);
  CHECK(bound({}, WatchedSummary{}) == Part::computing);  // no step was watched
}

TEST_CASE("training alike: to the bit, within the band of the type, or not") {
  const auto of = [](const Made& made) {
    return judge_ladder({rung("01", {Made{}, Made{}}), rung("05", {made, made})})[1];
  };
  CHECK(judge_ladder({rung("01", {Made{}})})[0].parity == Parity::baseline);
  CHECK(of({}).parity == Parity::bit_equal);
  CHECK(of({.valid_loss = 0.50002}).parity == Parity::within);
  const RungVerdict off = of({.valid_loss = 0.501});
  CHECK(off.parity == Parity::differs);
  CHECK(off.difference == Approx(0.002));
  CHECK(off.band == Approx(1e-4));
  REQUIRE(off.notes.size() == 1);
  CHECK_THAT(off.notes[0], says("05 trains differently: validation loss 0.5010 against 0.5000 of 01"));
  CHECK(of({.valid_loss = 0.501, .precision = "bf16"}).parity == Parity::within);
  CHECK(of({.valid_loss = 0.52, .precision = "fp16"}).parity == Parity::differs);
  CHECK(of({.valid_loss = std::nan("")}).parity == Parity::differs);
}

TEST_CASE("a baseline that does not repeat itself asks no more of others") {
  const auto out = judge_ladder({rung("01", {{.valid_loss = 0.5}, {.valid_loss = 0.505}}),
                                 rung("05", {{.valid_loss = 0.504}, {.valid_loss = 0.504}})});
  CHECK(out[1].band == Approx(0.005 / 0.5025));
  CHECK(out[1].parity == Parity::within);
}

TEST_CASE("a rung that trains differently is explained by the settings that differ") {
  Rung first = rung("01", {Made{}});
  Rung other = rung("05", {{.valid_loss = 0.7}});
  first.settings = {{"optim.lr", "0.001"}, {"run.threads", "2"}, {"loader.kind", "inline"}};
  other.settings = {{"optim.lr", "0.1"}, {"run.threads", "4"}, {"loader.kind", "gpu"}};
  CHECK_THAT(judge_ladder({first, other})[1].notes.at(0),
             says("settings that differ: optim.lr = 0.1 (0.001)") && !says("run.threads") && !says("loader"));
  other.settings = first.settings;
  CHECK_THAT(judge_ladder({first, other})[1].notes.at(0), says("its arithmetic is not"));
}

TEST_CASE("a rung without scores is not judged by them") {
  Rung unscored = rung("02", {Made{}});
  unscored.repeats[0].view.summary.has_scores = false;
  CHECK(judge_ladder({rung("01", {Made{}}), unscored})[1].parity == Parity::unknown);
  CHECK(judge_ladder({unscored, rung("03", {Made{}})})[1].parity == Parity::unknown);
  CHECK(judge_ladder({}).empty());
}

}  // namespace isobar::test_ladder
