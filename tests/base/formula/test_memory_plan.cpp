// What a configuration takes of memory, and what would take less.
#include <sstream>

#include "config/load.h"
#include "core/files.h"
#include "formula/memory_front.h"
#include "launch/mesh.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

constexpr std::uint64_t k40GiB = std::uint64_t{40} << 30;
const MemoryFacts kHalf{.on_cuda = true, .value_bytes = 2};

/// The preset mp on `ranks` ranks.
Config mp(std::int64_t ranks, std::int64_t tp, std::int64_t batch = 64) {
  Config out;
  out.model.embed = 1024;
  out.train.global_batch = batch;
  out.run.ranks = ranks;
  out.mesh.tp = tp;
  out.loader.kind = LoaderKind::gpu;
  return out;
}

LessonInfo lesson_of(const std::string& name) { return read_lesson(project_home(), name); }

/// Lesson 07 as one that could also take several backward passes a step.
LessonInfo accumulating() {
  LessonInfo out = lesson_of("07_tensor_parallel");
  out.honours.emplace_back("train.accumulate");
  return out;
}

/// A run of the lesson on the preset mp, set up as a learner does it.
Config typed(const LessonInfo& lesson, const std::vector<std::string>& sets) {
  return load_config(project_home(), lesson, {.preset = "mp", .sets = sets}, "cpu").config;
}

std::vector<MemoryWay> fits_of(const LessonInfo& lesson, const Config& config, const MemoryFacts& facts,
                               std::uint64_t limit_bytes) {
  return what_would_fit({.lesson = &lesson, .config = config, .facts = facts, .limit_bytes = limit_bytes});
}

/// Types what is named behind `sets`, and wants it accepted, and as small as was promised.
std::vector<MemoryWay> accepted_fits(const LessonInfo& lesson, const std::vector<std::string>& sets,
                                     std::uint64_t limit_bytes) {
  const std::vector<MemoryWay> fits = fits_of(lesson, typed(lesson, sets), kHalf, limit_bytes);
  for (const MemoryWay& fit : fits) {
    INFO(lesson.name << ": " << fit.change);
    CHECK(fit.plan.total() <= limit_bytes);
    std::vector<std::string> all = sets;
    std::istringstream words(fit.change);
    for (std::string option, value; words >> option >> value;)
      all.push_back(option == "--ranks" ? "run.ranks=" + value : value);
    REQUIRE_NOTHROW(typed(lesson, all));
    const Config config = typed(lesson, all);
    CHECK(plan_memory(config, kHalf).total() == fit.plan.total());
    const MeshSizes sizes{.tp = static_cast<int>(config.mesh.tp), .dp = static_cast<int>(replicas(config))};
    CHECK_NOTHROW(Mesh(config.mesh.order, sizes, static_cast<int>(config.run.ranks)));
  }
  return fits;
}

}  // namespace

TEST_CASE("every change that is named fits, divides what it must, and is as small as can be") {
  const Config config = mp(1, 1);
  for (const MemoryFacts& facts : {kHalf, MemoryFacts{}}) {
    const std::vector<MemoryWay> fits = fits_of(accumulating(), config, facts, k40GiB);
    REQUIRE(fits.size() >= 2);
    CHECK_THAT(fits.front().change, says("train.accumulate="));
    CHECK_THAT(fits.back().change, says("--ranks") && says("mesh.tp="));
    for (const MemoryWay& fit : fits) CHECK(fit.plan.total() <= k40GiB);
  }
  // One pass fewer, or one rank fewer of those that divide the batch, does not.
  CHECK(fits_of(accumulating(), config, {}, k40GiB).front().change == "--set train.accumulate=8");
  Config fewer = config;
  fewer.train.accumulate = 4;
  CHECK(plan_memory(fewer, {}).total() > k40GiB);
  CHECK(plan_memory(mp(4, 1), {}).total() > k40GiB);
  CHECK(plan_memory(mp(8, 1), {}).total() <= k40GiB);
}

TEST_CASE("every change that is named is accepted when it is typed") {
  const LessonInfo lesson = accumulating();
  CHECK(accepted_fits(lesson, {}, k40GiB).size() == 3);
  CHECK(accepted_fits(lesson, {"train.accumulate=2", "run.ranks=2"}, k40GiB / 4).size() == 3);
  // The axis that would grow must be part of the order.
  for (const MemoryWay& fit : accepted_fits(lesson, {"mesh.order=dp"}, k40GiB / 2))
    CHECK_THAT(fit.change, !says("mesh.tp"));
  const std::vector<MemoryWay> split = accepted_fits(lesson, {"mesh.order=tp"}, 2 * k40GiB);
  CHECK(split.size() == 2);
  CHECK(split.back().change == "--ranks 4 --set mesh.tp=4");
}

TEST_CASE("one rank a model is named together with an end of the sharing of tokens") {
  const LessonInfo lesson = accumulating();
  const std::vector<std::string> shared = {"run.ranks=2", "mesh.tp=2", "mesh.sequence_parallel=true"};
  const std::vector<MemoryWay> fits = accepted_fits(lesson, shared, k40GiB / 4);
  REQUIRE(fits.size() == 3);
  CHECK_THAT(fits[1].change, says("--set mesh.tp=1 --set mesh.sequence_parallel=false"));
  for (const std::uint64_t share : {std::uint64_t{2}, std::uint64_t{8}})
    CHECK_FALSE(accepted_fits(lesson, shared, k40GiB / share).empty());
  // The 225 tokens of one sample have no halves.
  std::vector<std::string> odd = shared;
  odd.insert(odd.end(), {"data.grid=[120, 120]", "train.global_batch=4"});
  const std::vector<MemoryWay> even = accepted_fits(lesson, odd, 3'000'000'000);
  REQUIRE(even.size() == 1);
  CHECK(even.front().change == "--ranks 4 --set mesh.tp=4");
}

TEST_CASE("a lesson that does not honour train.accumulate is not told to set it") {
  const std::vector<MemoryWay> fits = accepted_fits(lesson_of("08_cuda_graphs"), {}, k40GiB);
  CHECK(fits.size() == 2);
  for (const MemoryWay& fit : fits) CHECK_THAT(fit.change, !says("accumulate"));
  // Averaging behind a replay of whole steps takes one rank: no change is left.
  CHECK(accepted_fits(lesson_of("08_cuda_graphs"), {"graph.collectives=false"}, k40GiB).empty());
}

TEST_CASE("what is split over ranks shrinks, what is whole stays") {
  const MemoryPlan one = plan_memory(mp(1, 1, 16), kHalf), four = plan_memory(mp(4, 4, 16), kHalf);
  CHECK(four.activations < one.activations);
  CHECK(four.activations > one.activations / 4);
  CHECK(four.weights > one.weights / 4);
  CHECK(four.batches == one.batches);  // all ranks of a model see the same samples
  CHECK(plan_memory(mp(4, 1, 64), kHalf).activations == one.activations);
}

TEST_CASE("N x N matrices are counted where attention writes them, by the heads of a rank") {
  MemoryFacts facts = kHalf;
  CHECK(plan_memory(mp(1, 1, 16), facts).attention == 0);
  facts.writes_attention = true;
  const std::uint64_t whole = std::uint64_t{16} * 12 * 8 * 4050 * 4050 * 4;
  CHECK(plan_memory(mp(1, 1, 16), facts).attention == whole);
  CHECK(plan_memory(mp(2, 2, 16), facts).attention == whole / 2);
}

TEST_CASE("a cap is kept, or refused by category with what fits") {
  const LessonInfo lesson = lesson_of("07_tensor_parallel");
  Config config = mp(1, 1);
  CHECK_NOTHROW(check_memory_cap(lesson, config, kHalf));  // there is none
  config.run.memory_cap = "500GiB";
  CHECK_NOTHROW(check_memory_cap(lesson, config, kHalf));
  config.run.memory_cap = "40GiB";
  CHECK_THAT(error_of([&] { check_memory_cap(lesson, config, kHalf); }),
             says("40GiB") && says("activations") && says("weights") && says("64 samples at a time") &&
                 says("these fit"));
  config.run.memory_cap = "1GiB";
  CHECK_THAT(error_of([&] { check_memory_cap(lesson, config, kHalf); }),
             says("no mesh of up to 4096 ranks fits"));
}

TEST_CASE("16 bits halve what they can, by the mode that a device will take") {
  Config config = mp(1, 1, 16);
  config.amp.mode = AmpMode::bf16;
  CHECK(memory_facts(config, false).value_bytes == 2);
  config.amp.mode = AmpMode::mixed;
  CHECK(memory_facts(config, true).value_bytes == 2);
  config.amp.mode = AmpMode::tf32;
  CHECK(memory_facts(config, true).value_bytes == 4);
}

TEST_CASE("a lesson is planned as it is: what it does not honour is not there") {
  Config config = mp(1, 1, 16);
  config.loader.kind = LoaderKind::in_line;
  const MemoryPlan first = plan_memory(lesson_of("01_baseline"), config, {});
  const MemoryPlan fifth = plan_memory(lesson_of("05_fusion"), config, {});
  const MemoryPlan sixth = plan_memory(lesson_of("06_ddp"), config, {});
  CHECK(first.working > fifth.working);          // the loss's fields and Adam's denominator
  CHECK(first.activations < fifth.activations);  // no patches as rows
  CHECK(sixth.working == fifth.working);
  CHECK(sixth.program == fifth.program + fifth.gradients);  // flat buffers are laid out anew
  CHECK(sixth.total() == plan_memory(config, {}).total());
}

TEST_CASE(
    "slots of both loaders count on a CPU, in whole huge pages, and of validation no more than it has") {
  Config config;
  config.data.grid = {48, 96};
  config.train.global_batch = 4;
  const std::uint64_t field = 20 * 48 * 96 * 4, slot = std::uint64_t{4} << 20;
  config.loader.kind = LoaderKind::in_line;
  CHECK(plan_memory(config, {}).batches == 8 * field + 2 * field);
  config.loader.kind = LoaderKind::gpu;
  CHECK(plan_memory(config, {}).batches == 6 * slot + 2 * field);
  config.loader.kind = LoaderKind::workers;
  CHECK(plan_memory(config, {}).batches == 18 * slot + 2 * field);
  config.data.limit_valid = 11;
  CHECK(plan_memory(config, {}).batches == 11 * slot + 2 * field);
  config.data.workers = 0;
  CHECK(plan_memory(config, {}).batches == 8 * field + 2 * field);
  CHECK(plan_memory(config, kHalf).batches == 16 * field);
}

TEST_CASE("plain Adam takes the place of the activations, and more where that is too small") {
  Config config;
  config.data.grid = {48, 96};
  config.train.global_batch = 16;
  config.model.embed = 192;
  config.model.depth = 4;
  const auto added = [&](const MemoryFacts& facts) {
    config.fusion.adam = false;
    const std::uint64_t plain = plan_memory(config, facts).total();
    config.fusion.adam = true;
    return plain - plan_memory(config, facts).total();
  };
  const auto denominator = [&] { return plan_memory(config, {}).gradients; };
  CHECK(added({}) == 0);
  config.train.global_batch = 2;  // the heap has no block so large
  CHECK(added({}) == denominator());
  CHECK(added(kHalf) < denominator());
  CHECK(added(kHalf) > 0);
  config.model.embed = 512;  // nor ever one of 56 MB
  config.train.global_batch = 64;
  CHECK(added({}) == denominator());
  CHECK(added(kHalf) == 0);
}

TEST_CASE("the probe of the link counts where a small model takes less") {
  Config config;
  config.data.grid = {48, 96};
  config.train.global_batch = 4;
  config.model.embed = 96;
  config.model.depth = 4;
  config.run.ranks = 2;
  const MemoryPlan probing = plan_memory(config, {});
  config.comm.probe = false;
  const MemoryPlan plain = plan_memory(config, {});
  CHECK(probing.working == plain.working);  // the heap keeps it: no tensor of a step
  CHECK(probing.total() - plain.total() ==
        kMostProbeBytes - plain.activations - plain.working - plain.gradients);
  config.train.global_batch = 64;
  const std::uint64_t large = plan_memory(config, {}).total();
  config.comm.probe = true;
  CHECK(plan_memory(config, {}).total() == large);
}

TEST_CASE("the running moments of norms over the batch are buffers") {
  Config config = mp(2, 1, 16);
  config.model.norm = NormKind::batch;
  const auto moments = static_cast<std::uint64_t>(4 * 2 * (2 * config.model.depth + 1) * config.model.embed);
  CHECK(model_buffer_bytes(config) == moments);
  CHECK(plan_memory(config, kHalf).buffers == moments);
  config.model.buffers_mb = 1;
  config.comm.bucket_view = false;  // copies of gradients are no buffers of the model
  CHECK(model_buffer_bytes(config) == moments + (1 << 20));
}

TEST_CASE("constant buffers count, and messages that gradients are copied into") {
  Config config = mp(2, 1, 16);
  const MemoryPlan views = plan_memory(config, kHalf);
  CHECK(views.buffers == 0);
  config.model.buffers_mb = 100;
  CHECK(plan_memory(config, kHalf).buffers == std::uint64_t{100} << 20);
  CHECK(plan_memory(config, kHalf).total() == views.total() + (std::uint64_t{100} << 20));
  CHECK_THAT(plan_memory(config, kHalf).text(), says("buffers 105 MB"));
  config.model.buffers_mb = 0;
  config.comm.bucket_view = false;
  CHECK(plan_memory(config, kHalf).buffers == views.gradients);
  config.comm.sync = SyncKind::at_end;
  CHECK(plan_memory(config, kHalf).buffers == 0);
  config = mp(1, 1, 16);
  config.comm.bucket_view = false;
  CHECK(plan_memory(config, kHalf).buffers == 0);
}
