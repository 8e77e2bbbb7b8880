// What bounds a run, on made-up runs.

#include "analyse/run_verdict.h"
#include "cli/case_text.h"
#include "support/catch.h"
#include "support/made_runs.h"
#include "support/says.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

/// One rank of a CPU, 4 samples of 300 MFLOP a step in 20 ms.
RunCase case_of(const std::map<std::string, double, std::less<>>& stages_us) {
  RunCase out;
  out.folder = "runs/one";
  out.config = {{"loader.kind", "inline"}, {"data.workers", "4"}};
  SteadyFigures run;
  run.steps = 20;
  run.samples_per_s = 200;
  run.means = {{"step_us", 20'000}, {"load_us", 1000},       {"copy_us", 0},       {"forward_us", 6000},
               {"comm_us", 0},      {"backward_us", 10'000}, {"optimize_us", 2000}};
  for (const auto& [name, time_us] : stages_us) run.means[name] = time_us;
  run.view.state = RunState::done;
  run.view.lesson = "01_baseline";
  run.view.preset = "cpu_micro";
  run.view.device = "cpu";
  RunSummary& summary = run.view.summary;
  summary.steps = 30;
  summary.samples = 120;
  summary.samples_per_s = 200;
  summary.flops_per_sample = 3e8;
  summary.peak_flops_per_s = 2e11;
  summary.processor_wait = 0.01;
  summary.watched = {.step = 2,
                     .moved_bytes = 80'000'000,
                     .class_us = {{"gemm", 12'000}, {"attention", 2000}, {"pointwise", 4000}},
                     .attention = {}};
  out.repeats = {run};
  out.folders = {out.folder};
  return out;
}

const RunFacts kFacts = {.attention_flops = 3e7,
                         .memory_bytes_per_s = 1e10,
                         .lessons = {{"01_baseline", {}},
                                     {"02_workers", {"data"}},
                                     {"03_gpu_loader", {"data", "contention"}},
                                     {"04_amp", {"products"}},
                                     {"05_fusion", {"compute"}},
                                     {"08_cuda_graphs", {"launch"}},
                                     {"10_buckets", {"communication"}}},
                         .honours = {"data.source"}};

RunVerdict judged(const RunCase& run, const RunFacts& facts = kFacts) { return judge_run(run, {}, facts); }

RunSummary& summary_of(RunCase& run) { return run.repeats.front().view.summary; }

std::string report_of(const RunCase& run) { return verdict_report(run, judged(run), 76).json.text(); }

}  // namespace

TEST_CASE("computing bounds a run, with its split, its roofline, and the next lesson") {
  const RunVerdict found = judged(case_of({}));
  CHECK(found.verdict.bound == Bound::compute);
  CHECK(found.share == Approx(0.9));
  CHECK_THAT(verdict_sentence(found),
             says("bound by compute: computing takes 18.0 of 20.0 ms a step: GEMM 60 %, memory 20 %"));
  CHECK(found.roofline.flops == Approx(1.2e9));
  CHECK(found.roofline.attention_share == Approx(0.1));
  CHECK(found.roofline.arithmetic_us == Approx(6000));
  CHECK(found.roofline.memory_us == Approx(8000));
  CHECK(found.roofline.least_us() == Approx(8000));
  CHECK_THAT(roofline_sentence(found.roofline),
             says("1.2 GFLOP a step (10 % attention) take 6.0 ms at the peak, "
                  "80.0 MB moved take 8.0 ms") &&
                 says("computing took 18.0 ms"));
  CHECK(found.next == "./isobar run 04_amp --preset cpu_micro");
  CHECK(found.next_lesson == "04_amp");
  CHECK_THAT(found.notice, says("reading takes 5 % of a step"));
}

TEST_CASE("where 16 bits are emulated, or memory takes more than products, fusion is next") {
  RunFacts facts = kFacts;
  facts.computes_16_bit = false;
  CHECK(judged(case_of({}), facts).next == "./isobar run 05_fusion --preset cpu_micro");
  RunCase run = case_of({{"load_us", 0}});
  summary_of(run).watched.class_us = {{"gemm", 4000}, {"pointwise", 12'000}};
  const RunVerdict found = judged(run);
  CHECK(found.next == "./isobar run 05_fusion --preset cpu_micro");
  CHECK_THAT(found.notice, says("computing takes 18.0 ms where the roofline allows 8.0"));
}

TEST_CASE("reading bounds a run, and a slow disk comes along into the next") {
  RunCase run = case_of({{"load_us", 80'000}, {"step_us", 99'000}});
  run.repeats.front().view.throttle_mb_per_s = 40;
  const RunVerdict found = judged(run);
  CHECK(found.verdict.bound == Bound::data);
  CHECK(found.share == Approx(80.0 / 99));
  CHECK_THAT(verdict_sentence(found), says("bound by data: the loop waits 80.0 of 99.0 ms a step"));
  CHECK_THAT(found.notice, says("nothing computes"));
  CHECK(found.next == "./isobar run 02_workers --preset cpu_micro --set data.throttle_mb_per_s=40");
  CHECK_THAT(found.warnings.front(), says("disk of 40 MB/s"));
  run.config = {{"loader.kind", "workers"}, {"data.workers", "2"}};
  CHECK_THAT(judged(run).notice, says("reads ahead and is still slower"));
}

TEST_CASE("copying, communication, and time in which nobody computes bound a run") {
  CHECK(judged(case_of({{"copy_us", 50'000}, {"step_us", 69'000}})).verdict.bound == Bound::contention);
  const RunVerdict found = judged(case_of({{"comm_us", 30'000}, {"step_us", 49'000}}));
  CHECK(found.verdict.bound == Bound::communication);
  CHECK_THAT(found.verdict.sentence, says("communication that nothing hides takes 30.0 of 49.0 ms"));
  // Means of other ranks can be longer than the step: such a part is none of it.
  const RunVerdict longer = judged(case_of({{"comm_us", 31'000}, {"step_us", 29'000}}));
  CHECK_THAT(longer.verdict.sentence, says("takes 31.0 ms a step") && !says(" of "));
  CHECK(of_step(140, 200) == "0.140 of 0.200 ms a step");
  CHECK(of_step(300, 200) == "0.300 ms a step");
  RunCase idle = case_of({{"step_us", 60'000}});
  const RunVerdict host = judged(idle);
  CHECK(host.verdict.bound == Bound::launch);
  CHECK(host.next == "./isobar show runs/one");  // on a CPU no graph helps, and it kept no timeline
  const TempFolder kept;
  write_file_whole(kept / "rank-0000.spans.jsonl", std::string_view("\n"));
  RunCase traced = idle;
  traced.folder = kept.path();
  CHECK(judged(traced).next == "./isobar show " + kept.path().string() + " --timeline");
  idle.repeats.front().view.device = "cuda:0";
  CHECK(judged(idle).next == "./isobar run 08_cuda_graphs --preset cpu_micro");
}

TEST_CASE("a straggler bounds a run of several ranks") {
  RunCase run = case_of({});
  RanksView ranks;
  ranks.world = 2;
  ranks.steps = 20;
  ranks.step_us = 20'000;
  ranks.straggler =
      Straggler{.rank = 1, .kept_us = 5000, .of_step = 0.25, .last_in = 20, .stage = "backward"};
  run.repeats.front().ranks = ranks;
  const RunVerdict found = judged(run);
  CHECK(found.verdict.bound == Bound::straggler);
  CHECK(found.verdict.straggler == 1);
  CHECK(found.next == "./isobar show runs/one");
  const TempFolder kept;
  write_file_whole(kept / "rank-0001.spans.jsonl", std::string_view("\n"));
  run.folder = kept.path();
  CHECK(judged(run).next == "./isobar show " + kept.path().string() + " --timeline --rank 1");
  run.repeats.front().ranks->straggler->of_step = 0.06;
  CHECK(judged(run).verdict.bound == Bound::compute);
}

TEST_CASE("other programs, a peak that is too low, and a run that goes on are said first") {
  RunCase run = case_of({});
  summary_of(run).processor_wait = 0.36;
  const RunVerdict busy = judged(run);
  REQUIRE(busy.warnings.size() == 1);
  CHECK_THAT(busy.warnings.front(),
             says("other programs took part") && says("36 %") && says("rates are low"));
  CHECK(busy.next == "./isobar run 01_baseline --config runs/one/run.toml");
  CHECK(busy.next_lesson.empty());
  RunCase waits = case_of({{"step_us", 60'000}});
  CHECK(judged(waits).verdict.bound == Bound::launch);
  summary_of(waits).processor_wait = 0.4;
  CHECK(judged(waits).verdict.bound == Bound::contention);
  CHECK_THAT(verdict_sentence(judged(waits)), says("other programs") && says("24.0 of 60.0 ms a step"));
  summary_of(run).processor_wait = 0;
  summary_of(run).peak_flops_per_s = 1e9;
  const RunVerdict low = judged(run);
  CHECK(low.roofline.arithmetic_us == 0);
  CHECK_THAT(low.notice, says("MFU is not known"));
  for (const std::string& line : low.verdict.evidence) CHECK_THAT(line, !says("MFU"));
  run.repeats.front().view.state = RunState::running;
  CHECK_THAT(judged(run).warnings.front(), says("still running"));
  run.repeats.front().view.state = RunState::died;
  CHECK_THAT(judged(run).warnings.front(), says("did not end well"));
}

TEST_CASE("a run without a steady step bounds nothing") {
  RunCase run = case_of({});
  run.repeats.front().means.clear();
  run.repeats.front().steps = 0;
  const RunVerdict found = judged(run);
  CHECK_FALSE(found.is_known);
  CHECK_THAT(verdict_sentence(found), says("nothing can be said"));
  CHECK_THAT(report_of(run), says(R"("bound":null)") && says(R"("parts":null)"));
}

TEST_CASE("what a log does not say is given to nobody, and what to try can be done with it") {
  RunCase log = case_of({});
  SteadyFigures& run = log.repeats.front();
  run.view.source = run.view.lesson = "tutorial";
  run.view.provenance = "recorded";
  run.view.summary.watched = {};
  run.means = {{"step_us", 20'000}};
  const RunVerdict stageless = judged(log);
  CHECK_FALSE(stageless.is_known);
  CHECK_THAT(verdict_sentence(stageless),
             says("nothing can be said: the log has no times of the stages") && says("20.0 ms"));
  CHECK(stageless.next == "./isobar show runs/one");
  CHECK_THAT(report_of(log), says(R"("bound":null)") && says(R"("parts":null)") && !says("host"));
  run.means["load_us"] = 0;  // a column of zeros says as little
  run.means["forward_us"] = 0;
  CHECK_FALSE(judged(log).is_known);
  run.means["load_us"] = 4000;  // and the rest of the step is more than what is known
  CHECK_FALSE(judged(log).is_known);
  run.means["load_us"] = 15'000;
  const RunVerdict reads = judged(log);
  CHECK(reads.is_known);
  CHECK(reads.verdict.bound == Bound::data);
  CHECK(reads.parts[Part::host] == 0);
  CHECK(reads.next == "./isobar show runs/one");  // there is no lesson "tutorial"
  run.means.clear();
  CHECK_THAT(verdict_sentence(judged(log)), says("the log has no times of its steps"));
  run.steps = 0;
  CHECK_THAT(verdict_sentence(judged(log)), says("no step behind the warm-up"));
}

TEST_CASE("a run that only reads hands over what it does not read") {
  RunCase run = case_of({});
  run.repeats.front().view.summary.measure = "io";
  run.repeats.front().means = {{"step_us", 20'000}, {"load_us", 8000}};
  CHECK(judged(run).verdict.bound == Bound::launch);
}

TEST_CASE("a quartet beside the run with its settings decides") {
  MadeRuns runs;
  const auto trial = [&](const std::string& name, const std::string& point, double factor,
                         const char* workers) {
    runs.add(name, {.factor = factor,
                    .keys = {{"run.group", "\"quartet-1\""},
                             {"run.point", "\"" + point + "\""},
                             {"run.measure", "\"" + (point == "no_comm" ? "synthetic" : point) + "\""},
                             {"train.steps", "53"},
                             {"data.workers", workers}}});
  };
  const auto run = runs.add("own", {.keys = {{"run.point", "\"\""},
                                             {"run.measure", "\"none\""},
                                             {"train.steps", "900"},
                                             {"data.workers", "0"}}});
  const RunCase own = std::move(read_cases({run}).front());
  CHECK_FALSE(find_quartet(own, kFacts));
  for (const int i : {1, 2, 3}) {
    const std::string number = std::to_string(i);
    trial("io" + number, "io", 2 + 0.01 * i, "0");
    trial("syn" + number, "synthetic", 1 + 0.01 * i, "0");
    trial("full" + number, "full", 2.05 + 0.01 * i, "0");
  }
  const std::optional<QuartetFigures> found = find_quartet(own, kFacts);
  REQUIRE(found);
  CHECK(found->io.values.size() == 3);
  CHECK(found->no_comm.empty());
  const RunVerdict verdict = judge_run(own, found, kFacts);
  CHECK(verdict.of_quartet);
  CHECK(verdict.verdict.bound == Bound::data);  // by its anatomy it computes
  CHECK(judged(own).verdict.bound == Bound::compute);
  const auto other = runs.add("other", {.keys = {{"data.workers", "8"}}});
  CHECK_FALSE(find_quartet(read_cases({other}).front(), kFacts));
}
