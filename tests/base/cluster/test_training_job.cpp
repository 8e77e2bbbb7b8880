// Steps on a clock of events against what a person works out by hand.
#include <cmath>

#include "cluster/terms.h"
#include "cluster/training_job.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

// 1 GB/s are 1,000 bytes a microsecond.
const ClusterMachine kFlat = {
    .gpus_per_node = 1, .between_gb_s = 1, .inside_latency_us = 0, .latency_us = 0, .jitter = 0};
const SimulationTerms kPlain = [] {
  SimulationTerms out;
  out.link.call_us = 0;
  out.link.way = CollectiveWay::ring;
  return out;
}();

/// 3 MB of gradients in buckets of 1 MB, each 1,000 us between two ranks.
TrainingJob three_buckets() {
  TrainingJob out;
  out.gpus = 2;
  out.parameters = 750e3;
  out.bucket_bytes = out.first_bucket_bytes = 1e6;
  return out;
}

void check_sums(const SimulatedStep& step, double step_us) {
  CHECK(step.step_us() == Approx(step_us).epsilon(1e-12));
  double sum = 0;
  for (const auto& [name, us] : step.terms.named()) {
    INFO(name);
    CHECK(us >= -1e-9);
    sum += us;
  }
  CHECK(sum == Approx(step_us).epsilon(1e-12));
}

}  // namespace

TEST_CASE("buckets travel beside backward, and the last one is exposed") {
  TrainingJob job = three_buckets();
  // Forward 1,500, backward 3,000: buckets are ready at 2,500, 3,500, 4,500 and take 1,000 each.
  SimulatedStep step = simulate_step(kFlat, job, kPlain, 4500);
  check_sums(step, 5500);
  CHECK(step.terms.comm_us == Approx(1000));
  CHECK(step.comm_total_us == Approx(3000));
  CHECK(step.sent_bytes == Approx(3e6));
  // Backward 600: the link is the longer one, and its three messages begin at 500.
  step = simulate_step(kFlat, job, kPlain, 900);
  check_sums(step, 300 + 200 + 3000);
  job.overlaps = false;
  check_sums(simulate_step(kFlat, job, kPlain, 4500), 4500 + 3000);
  job.optimizer_us = 70;
  check_sums(simulate_step(kFlat, job, kPlain, 4500), 4500 + 3000 + 70);
}

TEST_CASE("an embedding's gradients become ready last") {
  TrainingJob job = three_buckets();
  job.outer_parameters = 500e3;
  // The inner 1 MB is ready with all of backward done, as are the two others.
  check_sums(simulate_step(kFlat, job, kPlain, 4500), 4500 + 3000);
}

TEST_CASE("passes that accumulate communicate once") {
  TrainingJob job = three_buckets();
  job.accumulate = 4;
  check_sums(simulate_step(kFlat, job, kPlain, 4500), 4 * 4500 + 1000);
}

TEST_CASE("the slowest of the ranks decides, by the quantile of its place") {
  TrainingJob job = three_buckets();
  ClusterMachine machine = kFlat;
  machine.jitter = 0.1;
  const double slower = 1 + 0.1 * normal_quantile(0.75);  // the upper one of two
  const SimulatedStep step = simulate_step(machine, job, kPlain, 4500);
  check_sums(step, 4500 * slower + 1000);
  CHECK(step.terms.jitter_us == Approx(4500 * (slower - 1)));
  CHECK(normal_quantile(0.5) == 0);
  CHECK(normal_quantile(0.975) == Approx(1.959964).epsilon(1e-6));
  CHECK(normal_quantile(0.025) == Approx(-1.959964).epsilon(1e-6));
}

TEST_CASE("all ranks by themselves give the step of the slowest") {
  SimulationTerms terms = fitted_terms();
  terms.straggler = 1.2;
  ClusterMachine machine = {.gpus_per_node = 4, .inside_gb_s = 100, .between_gb_s = 10};
  for (const int zero : {0, 1, 3}) {
    for (const int group : {0, 4}) {
      TrainingJob job;
      job.gpus = 32;
      job.zero = zero;
      job.shard_group = group;
      job.parameters = 125e6;
      job.outer_parameters = 20e6;
      job.layers = 6;
      job.accumulate = 2;
      job.optimizer_us = 500;
      const SimulatedStep one = simulate_step(machine, job, terms, 40e3);
      const SimulatedStep all = simulate_step(machine, job, terms, 40e3, SimulatedRanks::all);
      INFO("zero " << zero << ", group " << group);
      CHECK(all.step_us() == Approx(one.step_us()).epsilon(1e-12));
      CHECK(all.terms.comm_us == Approx(one.terms.comm_us).epsilon(1e-9));
      CHECK(all.activities > 5 * one.activities);
      check_sums(one, one.step_us());
    }
  }
}

TEST_CASE("sharded states: weights are gathered twice and gradients scattered") {
  TrainingJob job;
  job.gpus = 2;
  job.zero = 3;
  job.layers = 2;
  job.parameters = 1e6;  // 2 MB a layer: half of it is sent, 1,000 us
  // Computing of a layer: forward 5,000, backward 10,000. The first gather and the last scatter are exposed.
  const SimulatedStep step = simulate_step(kFlat, job, kPlain, 30e3);
  check_sums(step, 30e3 + 2000);
  CHECK(step.comm_total_us == Approx(6 * 1000));
  CHECK(step.sent_bytes == Approx(3 * 2e6));
  job.gather_bytes = 2;
  CHECK(simulate_step(kFlat, job, kPlain, 30e3).sent_bytes == Approx(4e6));
  job.checkpoint = true;  // backward is three quarters
  CHECK(simulate_step(kFlat, job, kPlain, 30e3).terms.backward_us == Approx(22.5e3));
}

TEST_CASE("copies of a shard sum over nodes what was scattered inside them") {
  const ClusterMachine machine = {.gpus_per_node = 4,
                                  .inside_gb_s = 100,
                                  .between_gb_s = 1,
                                  .inside_latency_us = 0,
                                  .latency_us = 0,
                                  .jitter = 0};
  TrainingJob job;
  job.gpus = 8;
  job.zero = 3;
  job.layers = 1;
  job.parameters = 1e6;
  const SimulatedStep whole = simulate_step(machine, job, kPlain, 1e6);
  job.shard_group = 4;
  const SimulatedStep hybrid = simulate_step(machine, job, kPlain, 1e6);
  // Inside: 2 gathers and 1 scatter of 4 MB, 3/4 of it over 100 GB/s. Between: 1 MB a rank, summed over 2.
  CHECK(hybrid.comm_total_us == Approx(3 * 30 + 1000));
  CHECK(hybrid.comm_total_us < whole.comm_total_us);
  job.outer_parameters = 0.5e6;  // the embedding's gradients are summed over the copies too
  CHECK(simulate_step(machine, job, kPlain, 1e6).sent_bytes == Approx(hybrid.sent_bytes - 0.75 * 2e6));
  job.outer_parameters = 0;
  job.shard_group = 3;
  CHECK_THAT(error_of([&] { simulate_step(machine, job, kPlain, 1e6); }), Says("groups of equal size"));
}

TEST_CASE("a reader that is slower than the step sets its rhythm") {
  TrainingJob job = three_buckets();
  job.load_us = 4000;
  check_sums(simulate_step(kFlat, job, kPlain, 4500), 5500);
  job.load_us = 9000;
  const SimulatedStep bound = simulate_step(kFlat, job, kPlain, 4500);
  check_sums(bound, 9000);
  CHECK(bound.terms.load_us == Approx(3500));
}

TEST_CASE("contention and full nodes lengthen computing, each as its own term") {
  SimulationTerms terms = kPlain;
  terms.contention = 0.1;
  TrainingJob job = three_buckets();
  job.gpus = 4;
  ClusterMachine machine = kFlat;
  machine.gpus_per_node = 4;
  machine.inside_gb_s = 1;
  // Collectives take 3 MB x 1.5 / 1 GB/s = 4,500 us: the whole backward pass of 3,000 has them beside it.
  SimulatedStep step = simulate_step(machine, job, terms, 4500);
  CHECK(step.terms.contention_us == Approx(300));
  terms.sharing = 0.2;
  step = simulate_step(machine, job, terms, 4500);
  CHECK(step.terms.sharing_us == Approx(0.2 * 4800));
  check_sums(step, step.step_us());
  job.gpus = 1;
  CHECK(simulate_step(machine, job, terms, 4500).step_us() == Approx(4500));
}

TEST_CASE("calibrated computing gives back the step that it came from") {
  const ClusterMachine machine = {.gpus_per_node = 8, .inside_gb_s = 200, .between_gb_s = 25};
  for (const int zero : {0, 3}) {
    TrainingJob job;
    job.gpus = 16;
    job.zero = zero;
    job.layers = 24;
    job.parameters = 1.3e9;
    for (const double step_us : {150e3, 400e3, 3e6}) {
      const double compute_us = calibrated_compute_us(machine, job, fitted_terms(), step_us);
      REQUIRE(compute_us > 0);
      CHECK(simulate_step(machine, job, fitted_terms(), compute_us).step_us() ==
            Approx(step_us).epsilon(1e-6));
    }
    CHECK(calibrated_compute_us(machine, job, fitted_terms(), 10) == 0);  // links alone take longer
  }
}

TEST_CASE("one rank alone computes as long as its step, to whatever side its parts are rounded") {
  const ClusterMachine machine = {.between_gb_s = 0.1};
  TrainingJob job;
  job.parameters = 7e5;
  for (double step_us = 30'000; step_us < 140'000; step_us += 331.7)
    CHECK(calibrated_compute_us(machine, job, fitted_terms(), step_us) == Approx(step_us).epsilon(1e-6));
}

TEST_CASE("4,096 ranks by themselves") {
  TrainingJob job;
  job.gpus = 4096;
  job.parameters = 350e6;
  const ClusterMachine machine = {.gpus_per_node = 8, .inside_gb_s = 200, .between_gb_s = 25};
  const SimulatedStep step = simulate_step(machine, job, fitted_terms(), 200e3, SimulatedRanks::all);
  CHECK(step.activities > std::size_t{4096} * 50);
  CHECK(step.step_us() == Approx(simulate_step(machine, job, fitted_terms(), 200e3).step_us()).epsilon(1e-9));
}

namespace {

/// 8 micro-batches through 4 ranks, each 1,200 us of computing in all.
TrainingJob four_stages(PipelineForm schedule = PipelineForm::one_f_one_b, int chunks = 1) {
  TrainingJob out;
  out.gpus = out.stages = 4;
  out.accumulate = 8;
  out.schedule = schedule;
  out.chunks = chunks;
  return out;
}

}  // namespace

TEST_CASE("a pipeline is idle for as long as its schedule has it") {
  constexpr double kIdeal = 8 * 300;  // a rank has 300 us of each micro-batch
  const auto step = [](const TrainingJob& job) { return simulate_step(kFlat, job, kPlain, 1200); };
  check_sums(step(four_stages()), 11 * 300);
  CHECK(step(four_stages()).terms.bubble_us == Approx(3 * 300));
  check_sums(step(four_stages(PipelineForm::gpipe)), 11 * 300);
  check_sums(step(four_stages(PipelineForm::interleaved, 2)), kIdeal + 3 * 150);
  check_sums(step(four_stages(PipelineForm::zb_h1)), kIdeal + 3 * 100);
  check_sums(step(four_stages(PipelineForm::zb_v, 2)), kIdeal + 3 * 50);
  TrainingJob odd = four_stages();
  odd.gpus = 6;
  CHECK_THAT(error_of([&] { step(odd); }), says("6 ranks in models of 4"));
  odd = four_stages(PipelineForm::interleaved, 2);
  odd.accumulate = 6;
  CHECK_THAT(error_of([&] { step(odd); }), says("by rounds of 4"));
  odd = four_stages();
  odd.accumulate = 1'000'000;
  CHECK_THAT(error_of([&] { step(odd); }), says("actions"));
}

TEST_CASE("messages of a pipeline leave the node where neighbours are on another one") {
  ClusterMachine machine = kFlat;
  machine.gpus_per_node = 4;
  machine.inside_gb_s = 1000;
  TrainingJob job = four_stages();
  job.message_bytes = 100e3;  // 100 us between nodes, 0.1 inside
  const double inside_us = simulate_step(machine, job, kPlain, 1200).step_us();
  CHECK(inside_us < 11 * 300 + 3);
  job.gpus = 16;  // 4 replicas: stages of one pipeline beside each other, or 4 ranks apart
  job.order = "tp-cp-dp-pp";
  const double apart_us = simulate_step(machine, job, kPlain, 1200).step_us();
  job.order = "tp-cp-pp-dp";
  CHECK(simulate_step(machine, job, kPlain, 1200).step_us() == Approx(inside_us));
  CHECK(apart_us > inside_us + 6 * 100);
  job.gpus = 4;  // the middle rank takes part in 2 x 2 messages of each micro-batch, and sends 2 of them
  machine.gpus_per_node = 1;
  const SimulatedStep far = simulate_step(machine, job, kPlain, 1200);
  CHECK(far.comm_total_us == Approx(8 * 4 * 100));
  CHECK(far.sent_bytes == Approx(8 * 2 * 100e3));
  TrainingJob turns = four_stages(PipelineForm::zb_v, 2);  // none within a rank
  turns.message_bytes = job.message_bytes;
  CHECK(simulate_step(machine, turns, kPlain, 1200).sent_bytes == Approx(8 * 4 * 100e3));
  job.order = "tp-cp-dp";
  CHECK_THAT(error_of([&] { simulate_step(machine, job, kPlain, 1200); }), says("names no axis pp"));
}

TEST_CASE("replicas of a pipeline sum the gradients of a stage, and the slowest rank sets the pace") {
  TrainingJob job = four_stages();
  job.gpus = 8;
  job.parameters = 1e6;
  job.overlaps = false;
  const SimulatedStep step = simulate_step(kFlat, job, kPlain, 1200);
  check_sums(step, 11 * 300 + 1000);  // 1 MB, as much as goes round a ring of two
  CHECK(step.sent_bytes == Approx(1e6));
  job.overlaps = true;
  CHECK(simulate_step(kFlat, job, kPlain, 1200).terms.comm_us == Approx(1000 - 200));
  SimulationTerms slow = kPlain;
  slow.straggler = 2;
  const SimulatedStep late = simulate_step(kFlat, four_stages(), slow, 1200);
  CHECK(late.step_us() > 8 * 600);
  CHECK(late.terms.jitter_us > 8 * 600 - 11 * 300);
  for (const double step_us : {5e3, 50e3, 5e6})
    CHECK(simulate_step(kFlat, job, kPlain, calibrated_compute_us(kFlat, job, kPlain, step_us)).step_us() ==
          Approx(step_us).epsilon(1e-6));
}
