// Where the axes of a mesh lie on nodes, and what the ranks of a model send each other there.
#include "cluster/axis_group.h"
#include "cluster/training_job.h"
#include "core/token_shares.h"
#include "support/catch.h"
#include "support/errors.h"

namespace isobar::test_axis_group {

namespace {

/// Nodes of four GPUs: 1 GB/s inside, 0.1 GB/s for each GPU between them, without latency.
const ClusterMachine kNodes = {.gpus_per_node = 4,
                               .inside_gb_s = 1,
                               .between_gb_s = 0.1,
                               .inside_latency_us = 0,
                               .latency_us = 0,
                               .jitter = 0};
const SimulationTerms kRings = [] {
  SimulationTerms out;
  out.link.call_us = 0;
  out.link.way = CollectiveWay::ring;
  return out;
}();

TrainingJob mesh_of(int gpus, int tensor, int context, int stages, const char* order = "tp-cp-pp-dp") {
  TrainingJob out;
  out.gpus = gpus;
  out.tensor = tensor;
  out.context = context;
  out.stages = stages;
  out.order = order;
  return out;
}

std::pair<int, int> shape_of(const TrainingJob& job, const char* axis) {
  const NodeGroup group = axis_group(kNodes, job, axis).ranks;
  return {group.nodes, group.ranks_per_node};
}

const VitShape kShape = {.height = 48, .width = 96, .embed = 96, .depth = 4, .heads = 4};  // 72 tokens

}  // namespace

TEST_CASE("neighbours of the first axes share a node, the last axis goes between nodes") {
  using Pair = std::pair<int, int>;
  const TrainingJob job = mesh_of(32, 2, 2, 2);
  CHECK(shape_of(job, "tp") == Pair(1, 2));
  CHECK(shape_of(job, "cp") == Pair(1, 2));
  CHECK(shape_of(job, "pp") == Pair(2, 1));
  CHECK(shape_of(job, "dp") == Pair(4, 1));
  CHECK(axis_group(kNodes, job, "tp").sharing == 1);
  CHECK(axis_group(kNodes, job, "cp").sharing == 2);
  CHECK(axis_group(kNodes, job, "dp").sharing == 4);
  // Another order puts the replicas of a rank on one node, and its model over nodes.
  const TrainingJob turned = mesh_of(32, 2, 2, 2, "dp-tp-cp-pp");
  CHECK(shape_of(turned, "dp") == Pair(1, 4));
  CHECK(shape_of(turned, "tp") == Pair(2, 1));
  CHECK(shape_of(mesh_of(32, 1, 8, 1), "cp") == Pair(2, 4));
  CHECK(shape_of(mesh_of(32, 1, 8, 1), "tp") == Pair(1, 1));

  TrainingJob ensembles = mesh_of(32, 1, 2, 1);
  ensembles.ensemble = 2;
  CHECK(shape_of(ensembles, "ens") == Pair(1, 2));
  CHECK(shape_of(ensembles, "data") == Pair(8, 1));
  CHECK(models_of(ensembles) == 16);
}

TEST_CASE("ranks that form no whole models or ensembles, and an axis that is none, are refused") {
  CHECK_THAT(error_of([] { models_of(mesh_of(6, 2, 2, 1)); }), says("6 ranks in models of 4"));
  TrainingJob odd = mesh_of(6, 2, 1, 1);
  odd.ensemble = 2;
  CHECK_THAT(error_of([&] { models_of(odd); }), says("3 models in ensembles of 2"));
  CHECK_THAT(error_of([] { axis_stride(mesh_of(4, 2, 1, 1), "ep"); }), says("names no axis ep"));
}

TEST_CASE("messages of shared tokens take their bytes, inside a node or between") {
  const ContextParallelForm form{.cp = 4, .samples = 2};
  TrainingJob job = mesh_of(4, 1, 4, 1);
  job.messages = context_messages(kShape, form, 1);
  AxisTimes times = axis_times(kNodes, job, kRings.link);
  const ContextStep step = context_step(kShape, form, 0);
  CHECK(times.pass_bytes + times.behind_bytes == Approx(step.bytes()));
  CHECK(times.forward_us == Approx((step.blocks.forward_bytes + step.unite_bytes) / 1000));
  CHECK(times.backward_us == Approx((step.blocks.backward_bytes + step.share_bytes) / 1000));
  CHECK(times.behind_us == Approx(step.sum_bytes / 1000));
  for (const ContextForm way : {ContextForm::gather_again, ContextForm::ring, ContextForm::a2a}) {
    ContextParallelForm other = form;
    other.way = way;
    other.again = way == ContextForm::ring;
    job.messages = context_messages(kShape, other, 1);
    CHECK(axis_times(kNodes, job, kRings.link).pass_bytes ==
          Approx(context_step(kShape, other, 0).bytes() - step.sum_bytes));
  }
  VitShape windowed = kShape;
  windowed.window = 6;
  job.messages = context_messages(windowed, form, 1);
  const ContextStep halo = context_step(windowed, form, 1);
  CHECK(axis_times(kNodes, job, kRings.link).pass_bytes == Approx(halo.bytes() - halo.sum_bytes));
  // Four ranks of one model on four nodes.
  job = mesh_of(16, 1, 4, 1, "dp-cp");
  job.messages = context_messages(kShape, form, 1);
  CHECK(axis_times(kNodes, job, kRings.link).forward_us == Approx(10 * times.forward_us));
}

TEST_CASE("a step of split models is its computing and what nothing is computed beside") {
  const ContextParallelForm form{.cp = 2, .samples = 2};
  TrainingJob job = mesh_of(2, 1, 2, 1);
  job.messages = context_messages(kShape, form, 1);
  job.parameters = 1000;
  const AxisTimes times = axis_times(kNodes, job, kRings.link);
  const SimulatedStep step = simulate_step(kNodes, job, kRings, 3000);
  const double sent_us = times.forward_us + times.backward_us + times.behind_us;
  CHECK(step.step_us() == Approx(3000 + sent_us));
  CHECK(step.terms.comm_us == Approx(sent_us));
  CHECK(step.sent_bytes == Approx(context_step(kShape, form, 0).bytes()));
  // One model averages nothing; two do, over the two nodes where a model takes a whole one.
  TrainingJob two = job;
  two.gpus = 8;
  two.context = 4;
  two.messages.clear();
  const SimulatedStep averaged = simulate_step(kNodes, two, kRings, 3000);
  CHECK(averaged.sent_bytes == Approx(4 * 1000));  // 2 (n - 1)/n S of two
  for (const int accumulate : {1, 3}) {
    job.accumulate = accumulate;
    job.zero = 3;
    CHECK(simulate_step(kNodes, job, kRings, 3000).terms.comm_us ==
          Approx(accumulate * (times.forward_us + times.backward_us) + times.behind_us));
  }
}

TEST_CASE("a pipeline's actions take what the ranks of a stage send each other too") {
  TrainingJob job = mesh_of(4, 1, 2, 2);
  job.accumulate = 4;
  job.parameters = 1000;
  const double plain_us = simulate_step(kNodes, job, kRings, 3000).step_us();
  job.messages = context_messages(kShape, {.cp = 2}, 1);
  const AxisTimes times = axis_times(kNodes, job, kRings.link);
  const SimulatedStep step = simulate_step(kNodes, job, kRings, 3000);
  // Five turns of a stage: four micro-batches and the first one's way through the other stage.
  CHECK(step.step_us() ==
        Approx(plain_us + 5 * (times.forward_us + times.backward_us) / 2 + times.behind_us));
  CHECK(step.terms.forward_us == Approx(4 * 500));
}

}  // namespace isobar::test_axis_group
