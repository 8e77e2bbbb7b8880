// Stages of a step on a machine whose rates are round numbers, against the arithmetic done by hand.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "config/load.h"
#include "core/files.h"
#include "formula/context_parallel.h"
#include "formula/model_shape.h"
#include "formula/stage_prediction.h"
#include "formula/tensor_parallel.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/made_rates.h"

using namespace isobar;

namespace {

constexpr int kProcessors = 2;

StepStages stages(const std::string& name, const std::vector<std::string>& sets,
                  const MachineRates& rates = made_rates()) {
  const LessonInfo lesson = read_lesson(project_home(), name);
  const Config config =
      load_config(project_home(), lesson, {.preset = "cpu_micro", .sets = sets}, "cpu").config;
  return predict_stages(lesson, config, rates, {.count = kProcessors});
}

/// Of a batch of four pairs of fields.
constexpr double kBatchBytes = 4.0 * 2 * 20 * 48 * 96 * 4;

TEST_CASE(
    "compressed gradients send fewer bytes and cost arithmetic, and weights are averaged once in H steps") {
  const auto with = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"run.ranks=2", "data.source=synthetic", "comm.link.gbit_per_s=0.1"});
    return stages("11_compression", more);
  };
  const StepStages plain = with({}), power = with({"comm.compress=powersgd"}),
                   half = with({"comm.compress=bf16"});
  CHECK(half.wire_bytes == Approx(plain.wire_bytes / 2));
  CHECK(power.wire_bytes < plain.wire_bytes / 8);
  CHECK(power.comm_us < half.comm_us);
  CHECK(half.comm_us < plain.comm_us);
  CHECK(power.backward_us > half.backward_us);
  CHECK(half.backward_us > plain.backward_us);
  CHECK(power.comm_total_us >= power.comm_us);
  const StepStages once = with({"comm.average=weights"}),
                   seldom = with({"comm.average=weights", "comm.local_steps=8"});
  CHECK(once.wire_bytes == Approx(plain.wire_bytes));
  CHECK(seldom.comm_us == Approx(once.comm_us / 8));
}

}  // namespace

TEST_CASE("a step of the plain loop is what its operations and bytes take at the rates") {
  const StepStages step = stages("01_baseline", {});
  const VitShape shape{.height = 48, .width = 96, .embed = 96, .depth = 4, .heads = 2};
  const ForwardFlops flops = count_forward_flops(shape);
  StepForm form;
  form.shape = shape;
  form.batch = 4;
  form.precision = AmpMode::none;
  const double places = 4.0 * 72 * 96 * 4;
  const double element_us = places * element_bytes_per_place(form) / 2e9 * 1e6;
  const double ends_us = 4.0 * 20 * 48 * 96 * 0.5e-3;
  const double products = flops.total() - flops.attention - flops.patch;
  const double patch_us = 4 * flops.patch / 10e9 * 1e6;
  CHECK(step.forward_us == Approx(4 * (products / 20e9 + flops.attention / 10e9) * 1e6 + patch_us +
                                  element_us / 3 + ends_us / 2));
  CHECK(step.backward_us == Approx(4 * (2 * products / 20e9 + 2.5 * flops.attention / 10e9) * 1e6 + patch_us +
                                   element_us * 2 / 3 + ends_us / 2));
  CHECK(step.optimize_us == Approx(65.0 * static_cast<double>(count_parameters(shape).total()) / 2e9 * 1e6));
  CHECK(step.read_bytes == kBatchBytes);
  CHECK(step.load_us == Approx(kBatchBytes / 1e9 * 1e6));
  CHECK(step.comm_us == 0);
  CHECK(step.needed_bytes_per_s(1) == Approx(kBatchBytes / (step.step_us() - step.load_us) * 1e6));
}

TEST_CASE(
    "a slow disk is waited for as long as its bytes take, and only for what computing leaves uncovered") {
  const double disk_us = kBatchBytes / 10;  // 10 MB/s are 10 bytes a microsecond
  CHECK(stages("01_baseline", {"data.throttle_mb_per_s=10"}).load_us == Approx(disk_us));
  const StepStages ahead = stages("02_workers", {"data.throttle_mb_per_s=10"});
  CHECK(ahead.load_us == Approx(disk_us - (ahead.forward_us + ahead.backward_us + ahead.optimize_us)));
  CHECK(stages("02_workers", {}).load_us == 0);
  // Without workers the loop reads, as in lesson 01.
  CHECK(stages("02_workers", {"data.workers=0"}).load_us == Approx(stages("01_baseline", {}).load_us));
  CHECK(stages("01_baseline", {"data.source=synthetic"}).load_us == 0);
}

TEST_CASE("who reads ahead takes processors from the step") {
  const StepStages inline_read = stages("01_baseline", {}), ahead = stages("02_workers", {});
  const double computing = inline_read.forward_us + inline_read.backward_us + inline_read.optimize_us;
  CHECK(ahead.step_us() == Approx(computing + inline_read.load_us / kProcessors));
}

TEST_CASE("a step is predicted with the threads that a run takes here") {
  const LessonInfo lesson = read_lesson(project_home(), "01_baseline");
  const auto backward_us = [&](const std::vector<std::string>& sets, const Processors& here) {
    const Config config =
        load_config(project_home(), lesson, {.preset = "cpu_micro", .sets = sets}, "cpu").config;
    return predict_stages(lesson, config, made_rates(), here).backward_us;
  };
  const double one_us = backward_us({"run.threads=1"}, {.count = kProcessors});
  CHECK(backward_us({}, {.count = kProcessors}) == Approx(one_us / 2));
  CHECK(backward_us({}, {.count = kProcessors, .of_process = 1}) == Approx(one_us));
  CHECK(backward_us({}, {.count = kProcessors, .of_task = 1}) == Approx(one_us));
}

TEST_CASE("more ranks than processors take turns") {
  const auto with = [](const char* ranks) {
    return stages("06_ddp", {ranks, "data.source=synthetic", "comm.sync=none", "train.global_batch=8"});
  };
  // A quarter of the samples, on half a processor.
  CHECK(with("run.ranks=4").backward_us == Approx(with("run.ranks=2").backward_us));
  CHECK(with("run.ranks=4").optimize_us == Approx(2 * with("run.ranks=2").optimize_us));
}

TEST_CASE("ranks share samples and processors, and what travels is hidden or not") {
  const std::vector<std::string> two = {"run.ranks=2", "comm.sync=at_end"};
  const StepStages one = stages("06_ddp", {}), at_end = stages("06_ddp", two);
  // Half the samples on half the processors.
  CHECK(at_end.optimize_us > one.optimize_us);
  const double bytes = 4 * 700'320;
  CHECK(at_end.wire_bytes == Approx(bytes));
  CHECK(at_end.comm_us == Approx(2 * 10 + bytes / 1000));
  CHECK(at_end.comm_total_us == Approx(at_end.comm_us));
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), "run.ranks=2");
    return stages("06_ddp", more);
  };
  const StepStages buckets = with({"comm.bucket_mb=0.5", "comm.first_bucket_mb=0.5"});
  CHECK(buckets.comm_us < at_end.comm_us);
  CHECK(buckets.comm_total_us == Approx(6 * 2 * 10 + bytes / 1000));
  CHECK(with({"comm.sync=none"}).comm_total_us == 0);
  CHECK(with({"comm.sync=per_parameter"}).comm_total_us == Approx(70 * 2 * 10 + bytes / 1000));
  // 0.1 Gb/s are 12.5 bytes a microsecond.
  CHECK(with({"comm.sync=at_end", "comm.link.gbit_per_s=0.1"}).comm_us == Approx(2 * 10 + bytes / 12.5));
}

TEST_CASE("an order that nothing can follow hides nothing, and copies and buffers cost their bytes") {
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"run.ranks=2", "data.source=synthetic", "comm.bucket_mb=0.5", "comm.first_bucket_mb=0.5"});
    return stages("10_buckets", more);
  };
  const StepStages ready = with({}), forward = with({"comm.bucket_order=forward"});
  CHECK(with({"comm.bucket_order=reverse"}).comm_us == Approx(ready.comm_us));
  CHECK(ready.comm_us < ready.comm_total_us);
  CHECK(forward.comm_us == Approx(ready.comm_total_us));
  const StepStages copied = with({"comm.bucket_view=false"});
  const double copy_us = 2 * 4 * 700'320 / 4e9 * 1e6;  // read and written, by one thread
  CHECK(copied.backward_us == Approx(ready.backward_us + copy_us));
  CHECK(copied.comm_us == Approx(ready.comm_us + copy_us));
  CHECK(with({"comm.bucket_view=false", "comm.sync=at_end"}).comm_us ==
        Approx(with({"comm.sync=at_end"}).comm_us));
  // One hop: 10 us, and 1000 bytes a microsecond.
  const StepStages constants = with({"model.buffers_mb=2", "comm.broadcast_buffers=true"});
  CHECK(constants.forward_us == Approx(ready.forward_us + 10 + 2 * 1048576 / 1000.0));
  CHECK(constants.wire_bytes == Approx(ready.wire_bytes + 2 * 1048576));
  CHECK(with({"model.buffers_mb=2"}).forward_us == Approx(ready.forward_us));
  CHECK(with({"comm.broadcast_buffers=true"}).forward_us == Approx(ready.forward_us));
  const StepStages running = with({"model.norm=batch", "comm.broadcast_buffers=true"});
  CHECK(running.forward_us == Approx(with({"model.norm=batch"}).forward_us + 10 + 4 * 2 * 9 * 96 / 1000.0));
  CHECK(with({"model.norm=batch"}).forward_us > ready.forward_us);  // not fused
}

TEST_CASE("pieces that a lesson fuses move fewer bytes, and 16 bits take rates of their own") {
  CHECK(stages("05_fusion", {"amp.mode=none", "data.source=synthetic"}).forward_us <
        stages("05_fusion", {"amp.mode=none", "data.source=synthetic", "fusion.residual_norm=false"})
            .forward_us);
  MachineRates rates = made_rates();
  for (ThreadRates& threads : rates.threads) {
    for (RateAt& rate : threads.bf16.gemm) rate.per_s *= 4;
  }
  const StepStages half = stages("04_amp", {"amp.mode=bf16", "data.source=synthetic"}, rates),
                   single = stages("04_amp", {"amp.mode=none", "data.source=synthetic"}, rates);
  CHECK(half.forward_us < single.forward_us);
  CHECK(half.optimize_us == Approx(single.optimize_us));
}

TEST_CASE("shared states send what their formula has, and wait for weights on a slow link") {
  const auto with = [](std::int64_t zero, double gbit_per_s) {
    const LessonInfo lesson = read_lesson(project_home(), "06_ddp");
    Config config =
        load_config(project_home(), lesson,
                    {.preset = "cpu_micro", .sets = {"run.ranks=4", "data.source=synthetic"}}, "cpu")
            .config;
    config.mesh.zero = zero;
    config.comm.link.gbit_per_s = gbit_per_s;
    return predict_stages(lesson, config, made_rates(), {.count = 8});
  };
  const double bytes = 4 * 700'320;
  CHECK(with(0, 10).wire_bytes == Approx(1.5 * bytes));
  CHECK(with(1, 10).wire_bytes == Approx(1.5 * bytes));
  CHECK(with(3, 10).wire_bytes == Approx(2.25 * bytes));
  CHECK(with(3, 0.1).forward_us > with(2, 0.1).forward_us);
  CHECK(with(3, 0.1).step_us() > with(2, 0.1).step_us());
}

TEST_CASE("what is not predicted is refused") {
  CHECK_THAT(error_of([] { stages("04_amp", {"amp.mode=fp16"}); }), says("no instructions for fp16"));
  CHECK_THAT(error_of([] {
               stages("05_fusion", {"amp.mode=none", "model.attention=math"});
             }),
             says("no rate is known for math attention"));
}

TEST_CASE("where passes are a pipeline's, one rank's too, gradients leave behind the last one") {
  const auto of = [](const char* name, std::int64_t zero) {
    const LessonInfo lesson = read_lesson(project_home(), name);
    Config config = load_config(project_home(), lesson, {.preset = "cpu_micro"}, "cpu").config;
    config.data.source = DataSource::synthetic;
    config.model.checkpoint = CheckpointKind::none;
    config.mesh.zero = zero;
    config.train.accumulate = 4;
    config.train.global_batch = 8;
    config.run.ranks = 2;
    config.run.threads = 1;
    config.comm.bucket_mb = config.comm.first_bucket_mb = 0.01F;
    config.comm.link.gbit_per_s = 1;
    return predict_stages(lesson, config, made_rates(), {.count = 2});
  };
  for (const std::int64_t zero : {0, 1}) {
    CAPTURE(zero);
    const StepStages beside = of("14_checkpointing", zero), behind = of("15_pipeline", zero);
    CHECK(beside.comm_us < beside.comm_total_us);
    CHECK(behind.comm_us == Approx(behind.comm_total_us));
    CHECK(behind.wire_bytes == Approx(beside.wire_bytes));
    CHECK(behind.comm_us > beside.comm_us);
  }
}

TEST_CASE("a pipeline's step goes by its clock, on processors of its own or on those that there are") {
  const LessonInfo lesson = read_lesson(project_home(), "14_checkpointing");
  Config config = load_config(project_home(), lesson, {.preset = "cpu_micro"}, "cpu").config;
  config.data.source = DataSource::synthetic;
  config.model.checkpoint = CheckpointKind::none;
  config.mesh.zero = 0;
  config.train.accumulate = config.train.global_batch = 8;
  config.run.threads = 1;
  const StepStages alone = predict_stages(lesson, config, made_rates(), {.count = 4});
  CHECK_FALSE(alone.pipeline);
  config.run.ranks = config.mesh.pp = 4;
  const StepStages own = predict_stages(lesson, config, made_rates(), {.count = 4});
  REQUIRE(own.pipeline);
  const PipelineTimes& times = *own.pipeline;
  CHECK(times.costs.at_once >= 4);
  CHECK(times.boundaries.size() == 3);
  CHECK(times.boundaries[0].messages == 16);
  const double message = 4.0 * 4 * 96 * (48 / 8) * (96 / 8) / 4;
  CHECK(times.boundaries[0].bytes == Approx(16 * message));
  CHECK(own.wire_bytes == Approx(8 * message));
  // All ranks' computing is that of one process; the stages of one rank add up to the step.
  double busy_us = 0;
  for (const double us : times.course.busy_us) busy_us += us;
  CHECK(busy_us == Approx(alone.forward_us + alone.backward_us).epsilon(1e-6));
  CHECK(own.forward_us + own.backward_us + own.comm_us == Approx(times.course.step_us));
  CHECK(times.course.idle_share() > bubble_of_step(4, 8));  // stages are not equal
  const StepStages crowded = predict_stages(lesson, config, made_rates(), {.count = 1});
  CHECK(crowded.step_us() > own.step_us());
  CHECK(crowded.pipeline->course.step_us >= busy_us);
  // Two pipelines have gradients to sum.
  config.run.ranks = 8;
  config.train.global_batch = 16;
  CHECK(predict_stages(lesson, config, made_rates(), {.count = 8}).wire_bytes > own.wire_bytes);
}

namespace {

/// cpu_micro: 72 tokens, 4 blocks, two heads; a step of 8 samples on `ranks` ranks with processors of their
/// own.
StepStages split(const std::function<void(Config&)>& change, std::int64_t ranks = 2) {
  const LessonInfo lesson = read_lesson(project_home(), "15_pipeline");
  Config config = load_config(project_home(), lesson, {.preset = "cpu_micro"}, "cpu").config;
  config.data.source = DataSource::synthetic;
  config.loader.kind = LoaderKind::in_line;
  config.amp.mode = AmpMode::none;
  config.train.accumulate = 1;
  config.train.global_batch = 8;
  config.run.ranks = ranks;
  config.run.threads = 1;
  change(config);
  return predict_stages(lesson, config, made_rates(), {.count = static_cast<int>(ranks)});
}

const VitShape kMicroShape{.height = 48, .width = 96, .embed = 96, .depth = 4, .heads = 2};

}  // namespace

TEST_CASE("ranks that share tokens compute their own, and wait for what they send each other") {
  const StepStages one = split([](Config&) {}, 1), two = split([](Config&config) { config.mesh.cp = 2; });
  // Both ends are whole on each rank, and so is the update.
  CHECK(two.forward_us > one.forward_us / 2);
  CHECK(two.forward_us < one.forward_us * 0.7);
  CHECK(two.backward_us < one.backward_us * 0.7);
  CHECK(two.optimize_us == Approx(one.optimize_us));
  const ContextParallelForm form{.cp = 2, .samples = 8};
  const ContextStep sent = context_step(kMicroShape, form, 0);
  CHECK(two.wire_bytes == Approx(sent.bytes()));  // one model: nothing is averaged
  CHECK(two.model_wire_bytes == two.wire_bytes);
  // Over a link of 10 us and 1000 bytes a microsecond: a gather and a scatter a block, both ends, the sum.
  CHECK(two.comm_us == Approx((2 * 4 + 2) * 10 + 2 * 10 + sent.bytes() / 1000));
  CHECK(two.comm_us == two.model_comm_us);
  const auto sends = [](ContextForm way) {
    return split([&](Config& config) {
      config.mesh.cp = 2;
      config.mesh.cp_comm = way;
    });
  };
  CHECK(sends(ContextForm::gather_again).model_wire_bytes > two.model_wire_bytes);
  CHECK(sends(ContextForm::a2a).model_wire_bytes ==
        Approx(context_step(kMicroShape, {.cp = 2, .way = ContextForm::a2a, .samples = 8}, 0).bytes()));
  const StepStages windowed = split([](Config& config) {
    config.mesh.cp = 2;
    config.model.window = 4;
  });
  CHECK(windowed.forward_us < two.forward_us);
  CHECK(windowed.model_wire_bytes < two.model_wire_bytes);
}

TEST_CASE("split layers are predicted with what their ranks send, and norms that each has whole") {
  const StepStages one = split([](Config&) {}, 1), two = split([](Config&config) { config.mesh.tp = 2; }),
                   shared = split([](Config&config) { config.mesh.cp = 2; });
  CHECK(two.forward_us < one.forward_us);
  CHECK(two.forward_us > shared.forward_us);  // norms are whole
  CHECK(two.optimize_us < one.optimize_us);
  CHECK(two.model_wire_bytes == Approx(tensor_parallel_wire_bytes(kMicroShape, {.tp = 2, .samples = 8})));
  CHECK(two.comm_us == Approx(4 * 4 * 2 * 10 + two.model_wire_bytes / 1000));
  // Ranks that share tokens too send their own: 36 of 72, or 24.
  for (const std::int64_t cp : {2, 3}) {
    CAPTURE(cp);
    const StepStages both = split(
        [&](Config& config) {
          config.mesh.tp = 2;
          config.mesh.cp = cp;
        },
        2 * cp);
    const double tokens = context_step(kMicroShape, {.cp = cp, .tp = 2, .samples = 8}, 0).bytes();
    CHECK(both.model_wire_bytes == Approx(two.model_wire_bytes / static_cast<double>(cp) + tokens));
  }
}

TEST_CASE("two models of two ranks average their gradients over the models alone") {
  const auto of = [](std::int64_t cp, std::int64_t ranks) {
    return split([&](Config& config) { config.mesh.cp = cp; }, ranks);
  };
  const double averaged = of(1, 2).wire_bytes;  // 2 (n - 1)/n S of two replicas
  const StepStages four = of(2, 4);
  CHECK(four.wire_bytes - four.model_wire_bytes == Approx(averaged));
  CHECK(four.comm_us - four.model_comm_us == Approx(of(1, 2).comm_us));
}

TEST_CASE("a rollout computes each forecast, members are samples, and models of an ensemble gather theirs") {
  const auto of = [](std::int64_t rollout, std::int64_t members, std::int64_t ensemble,
                     std::int64_t batch = 8) {
    return split(
        [&](Config& config) {
          config.fusion.head_loss = false;
          config.train.rollout = rollout;
          config.train.global_batch = batch;
          config.mesh.members_per_device = members;
          config.mesh.gpus_per_ensemble = ensemble;
        },
        2);
  };
  const StepStages plain = of(1, 1, 0), rolled = of(3, 1, 0), pairs = of(1, 2, 0), together = of(1, 1, 2);
  CHECK(rolled.forward_us == Approx(3 * plain.forward_us));
  CHECK(rolled.optimize_us == Approx(plain.optimize_us));
  CHECK(pairs.backward_us == Approx(of(1, 1, 0, 16).backward_us));
  CHECK(plain.ensemble_us == 0);
  CHECK(pairs.ensemble_us == 0);
  CHECK(together.forward_us == Approx(of(1, 1, 0, 16).forward_us));  // one replica has all samples
  const double forecasts = 2 * 8 * 20 * 48 * 96 * 4.0;
  CHECK(together.ensemble_us == Approx(10 + forecasts / 2 / 1000));
  CHECK(together.wire_bytes == Approx(plain.wire_bytes + forecasts / 2));
}

TEST_CASE("ranks that read together read a part each and gather the rest") {
  const auto of = [](std::int64_t readers) {
    return split([&](Config& config) {
      config.data.source = DataSource::files;
      config.mesh.cp = 2;
      config.data.read_group = readers;
    });
  };
  const StepStages alone = of(1), together = of(2);
  CHECK(alone.read_bytes == 2 * kBatchBytes);
  CHECK(together.read_bytes == kBatchBytes);
  CHECK(alone.gather_us == 0);
  CHECK(together.gather_us == Approx(10 + kBatchBytes / 1000));
  CHECK(together.read_us == Approx(alone.read_us / 2 + together.gather_us));
  CHECK(together.load_us == Approx(together.read_us));
}
