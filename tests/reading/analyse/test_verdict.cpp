#include "analyse/verdict.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;

namespace {

/// Three trials within 1 % of `rate`.
Spread steady(double rate) { return Spread({rate * 0.995, rate, rate * 1.005}); }

QuartetFigures figures(double io, double synthetic, double full) {
  QuartetFigures out;
  out.io = steady(io);
  out.synthetic = steady(synthetic);
  out.full = steady(full);
  out.fields = {{"step_us", 20'000}, {"load_us", 6'000}, {"copy_us", 100}};
  return out;
}

Bound bound_of(const QuartetFigures& f) { return judge_quartet(f).bound; }

std::string told(const Verdict& verdict) {
  std::string out = verdict.sentence;
  for (const std::string& line : verdict.evidence) out += "\n" + line;
  return out;
}

}  // namespace

TEST_CASE("rule 1: what is whole cannot be faster than a part of it") {
  CHECK(bound_of(figures(200, 100, 103.5)) == Bound::fault);
  CHECK(bound_of(figures(100, 200, 103.5)) == Bound::fault);
  CHECK(bound_of(figures(200, 100, 102.9)) == Bound::compute);
  QuartetFigures noisy = figures(200, 100, 105);
  noisy.synthetic = Spread({90, 100, 110});  // trials that lie 10 apart cannot tell 105 from 100
  CHECK(bound_of(noisy) == Bound::compute);
  CHECK_THAT(told(judge_quartet(figures(100, 200, 110))), says("10 % faster than IO"));
}

TEST_CASE("rule 2: slower batches than the model takes, and a run at their speed, is data") {
  const Verdict verdict = judge_quartet(figures(50, 150, 48));
  CHECK(verdict.bound == Bound::data);
  CHECK_THAT(told(verdict), says("batches come at 50.0 samples/s, the model could take 150.0") &&
                                says("IO is 33 % of SYNTHETIC"));
  CHECK(bound_of(figures(96.5, 100, 90)) == Bound::data);
  CHECK(bound_of(figures(97.5, 100, 90)) == Bound::compute);  // as fast as the model, within 3 %
  CHECK(bound_of(figures(50, 150, 45.1)) == Bound::data);
  CHECK(bound_of(figures(50, 150, 44.5)) == Bound::contention);
}

TEST_CASE("rule 3: a run slower than its slower part names what does not overlap") {
  QuartetFigures inline_loader = figures(60, 150, 43);
  inline_loader.fields = {{"step_us", 93'000}, {"load_us", 66'000}, {"copy_us", 10}};
  const Verdict verdict = judge_quartet(inline_loader);
  CHECK(verdict.bound == Bound::contention);
  CHECK_THAT(told(verdict),
             says("load takes 66.0 of 93.0 ms a step: it could overlap") && says("the training loop reads"));
  QuartetFigures copies = figures(300, 150, 100);
  copies.reads_ahead = true;
  copies.fields = {{"step_us", 40'000}, {"load_us", 20}, {"copy_us", 12'000}};
  CHECK_THAT(told(judge_quartet(copies)), says("copy takes 12.0 of 40.0 ms"));
  QuartetFigures crowded = copies;
  crowded.fields["copy_us"] = 100;
  CHECK_THAT(told(judge_quartet(crowded)), says("each other's cores or memory: 13.3 ms of a step are lost"));
  crowded.fields.clear();
  CHECK_THAT(told(judge_quartet(crowded)), says("no times of its stages"));
  CHECK(bound_of(figures(300, 100, 90)) == Bound::compute);
  CHECK(bound_of(figures(300, 100, 89)) == Bound::contention);
}

TEST_CASE("noisy trials: a difference inside their spread bounds nothing, and is said") {
  QuartetFigures noisy = figures(300, 100, 85);
  noisy.full = Spread({60, 85, 100});  // a range of 20 for a difference of 15
  const Verdict compute = judge_quartet(noisy);
  CHECK(compute.bound == Bound::compute);
  CHECK_THAT(told(compute), says("the trials of FULL lie between 60.0 and 100.0") &&
                                says("FULL and SYNTHETIC are the same"));
  noisy.io = steady(50);  // slower data explains as much
  noisy.full = Spread({30, 42, 50});
  CHECK(bound_of(noisy) == Bound::data);
  noisy.full = Spread({38, 38, 38});
  CHECK(bound_of(noisy) == Bound::contention);
}

TEST_CASE("rule 4: communication is what NO-COMM gains") {
  QuartetFigures f = figures(500, 100, 99);
  CHECK(bound_of(f) == Bound::compute);  // nothing was said of it
  f.no_comm = steady(112);
  CHECK(bound_of(f) == Bound::communication);
  CHECK_THAT(told(judge_quartet(f)), says("11 % of a step is communication"));
  f.no_comm = steady(110);
  CHECK(bound_of(f) == Bound::compute);
}

TEST_CASE("rule 5: a device that waits for the host") {
  QuartetFigures f = figures(500, 100, 99);
  f.fields = {{"step_us", 20'000},
              {"forward_host_us", 8'000},
              {"backward_host_us", 10'000},
              {"optimize_host_us", 1'500},
              {"idle_us", 2'500}};
  CHECK(bound_of(f) == Bound::compute);  // on a CPU the host is the device
  f.on_device = true;
  CHECK(bound_of(f) == Bound::launch);
  CHECK_THAT(told(judge_quartet(f)), says("19.5 of 20.0 ms") && says("idle for 12 %"));
  f.fields["idle_us"] = 1'900;
  CHECK(bound_of(f) == Bound::compute);
  f.fields.erase("idle_us");
  CHECK(bound_of(f) == Bound::compute);
  CHECK_THAT(told(judge_quartet(f)), says("not ruled out"));
}

TEST_CASE("rule 6: computing is split by the formula, with what FULL lost") {
  QuartetFigures f = figures(1000, 150, 144);
  f.attention_share = 0.09;
  f.mfu = 0.48;
  CHECK_THAT(told(judge_quartet(f)), says("attention 9 %") && says("products 91 %") &&
                                         says("predicted by model") && says("MFU 48.0 % (measured here)") &&
                                         says("4 % are lost to loading and copying"));
  f.full = steady(150);
  CHECK_THAT(told(judge_quartet(f)), says("FULL and SYNTHETIC are the same"));
}

TEST_CASE("a missing figure is no verdict") {
  QuartetFigures f = figures(500, 100, 99);
  f.io = Spread();
  CHECK(bound_of(f) == Bound::fault);
  CHECK_THAT(told(judge_quartet(f)), says("IO gave no figure"));
  CHECK(bound_of(QuartetFigures{}) == Bound::fault);
}

TEST_CASE("what comes next is a lesson that is here, or a sweep, with the same settings") {
  const NextStep first{
      .lesson = "01_baseline",
      .lessons = {{"01_baseline", {}}, {"02_workers", {"data"}}, {"03_gpu_loader", {"data", "contention"}}},
      .honours = {"data.source"},
      .words = [](const std::string&, const std::string&) { return "--preset cpu_micro"; }};
  const auto next = [](Bound bound, const NextStep& step) { return next_command({bound, "", {}}, step); };
  CHECK(next(Bound::data, first) == "./isobar quartet 02_workers --preset cpu_micro");
  CHECK(next(Bound::contention, first) == "./isobar quartet 02_workers --preset cpu_micro");
  CHECK(next(Bound::compute, first) ==
        "./isobar sweep 01_baseline train.global_batch=1,2,4,8,16 --preset cpu_micro");
  CHECK(next(Bound::fault, first) ==
        "./isobar quartet 01_baseline --steps 200 --trials 5 --preset cpu_micro");
  NextStep alone = first;
  alone.lessons = {{"01_baseline", {}}};
  CHECK(next(Bound::data, alone) == "./isobar sweep 01_baseline data.source=files,memory --preset cpu_micro");
  const NextStep second{.lesson = "02_workers",
                        .lessons = {{"01_baseline", {}},
                                    {"02_workers", {"data"}},
                                    {"03_gpu_loader", {"data", "contention"}},
                                    {"04_amp", {"products"}}},
                        .honours = {"data.source", "data.workers"},
                        .words = [](const std::string& lesson, const std::string& varied) {
                          const std::string key = varied.empty() ? "" : " without " + varied;
                          return lesson == "02_workers" ? "--set its=own" + key : key;
                        }};
  CHECK(next(Bound::data, second) ==
        "./isobar sweep 02_workers data.workers=1,2,4,8 --set its=own without data.workers");
  CHECK(next(Bound::contention, second) == "./isobar quartet 03_gpu_loader");
  CHECK(next(Bound::compute, second) == "./isobar quartet 04_amp");
}

namespace {

/// A trial of two ranks in which rank 1 keeps the other waiting for a share of a step of 100 ms.
RanksView trial(int straggler, double of_step, const std::string& stage) {
  RanksView out;
  out.world = 2;
  out.steps = 50;
  out.step_us = 100'000;
  if (straggler < 0) return out;
  Straggler& found = out.straggler.emplace();
  found.rank = straggler;
  found.kept_us = of_step * out.step_us;
  found.of_step = of_step;
  found.last_in = 49;
  found.stage = stage;
  return out;
}

/// 30 % of SYNTHETIC is communication.
QuartetFigures of_ranks(std::vector<RanksView> ranks) {
  QuartetFigures out = figures(500, 70, 70);
  out.no_comm = steady(100);
  out.ranks = std::move(ranks);
  return out;
}

}  // namespace

TEST_CASE("a rank that the others wait for is named before communication is") {
  const QuartetFigures f =
      of_ranks({trial(1, 0.3, "backward"), trial(1, 0.25, "backward"), trial(-1, 0, "")});
  const Verdict verdict = judge_quartet(f);
  CHECK(verdict.bound == Bound::straggler);
  CHECK(verdict.straggler == 1);
  CHECK_THAT(verdict.sentence,
             says("rank 1 keeps the others waiting 25.0 ms a step") && says("its backward"));
  const std::string next =
      next_command(verdict, {.lesson = "06_ddp",
                             .lessons = {},
                             .honours = {},
                             .full_run = "runs/x",
                             .words = [](const std::string&, const std::string&) { return ""; }});
  CHECK(next == "./isobar show runs/x --timeline --rank 1");
}

TEST_CASE("one trial, or less than a tenth of a step, is no verdict but is told") {
  CHECK(bound_of(of_ranks({trial(1, 0.3, ""), trial(-1, 0, ""), trial(-1, 0, "")})) == Bound::communication);
  CHECK(bound_of(of_ranks({trial(1, 0.3, ""), trial(0, 0.3, "")})) == Bound::communication);
  const Verdict small = judge_quartet(of_ranks({trial(1, 0.08, ""), trial(1, 0.08, "")}));
  CHECK(small.bound == Bound::communication);
  CHECK_THAT(told(small), says("rank 1 keeps the others waiting 8.0 ms"));
}

TEST_CASE("where all wait for data a slow rank is not what bounds them, unless it is its loading") {
  QuartetFigures f = of_ranks({trial(1, 0.3, "backward")});
  f.io = steady(50);
  f.full = steady(49);
  CHECK(bound_of(f) == Bound::data);
  f.ranks = {trial(1, 0.3, "load")};
  CHECK(bound_of(f) == Bound::straggler);
}

TEST_CASE("communication is bound by latency or by bandwidth, by the probe at the size of the messages") {
  RanksView view = trial(-1, 0, "");
  view.comm.comm_calls = 10;
  view.comm.wire_bytes = 10 * 50'000;  // 50 us at 1 GB/s
  view.probe = MeasuredLink{"ring", 49, 1, 1};
  CHECK_THAT(told(judge_quartet(of_ranks({view}))),
             says("30 % of a step is communication between ranks, bound by bandwidth") && says("49 %"));
  view.probe->latency_us = 60;
  CHECK_THAT(told(judge_quartet(of_ranks({view}))), says("bound by latency") && says("50.0 kB"));
  view.probe.reset();
  CHECK_THAT(told(judge_quartet(of_ranks({view}))), !says("bound by"));
}
