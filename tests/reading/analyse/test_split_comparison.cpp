// Ranks that share tokens beside ranks that share layers: what was published of both, predicted and graded.
#include "analyse/cluster_prediction.h"
#include "analyse/split_comparison.h"
#include "cluster/profile.h"
#include "config/load.h"
#include "config/toml_text.h"
#include "core/files.h"
#include "formula/memory_plan.h"
#include "support/catch.h"
#include "support/made_rates.h"

namespace isobar::test_split_comparison {

namespace {

/// One that has both.
LessonInfo splitting() {
  LessonInfo out = read_lesson(project_home(), "15_pipeline");
  for (const char* const key : {"mesh.cp", "mesh.cp_comm", "model.window"}) out.honours.emplace_back(key);
  return out;
}

/// A row of lessons/published.toml of 2025.
double published(const std::string& row) {
  const auto entries = parse_toml(read_text_file(project_home() / "lessons/published.toml", 1 << 20), "it");
  for (const TomlEntry& entry : entries)
    if (entry.key == "rows." + row + ".2025") return std::get<std::vector<double>>(entry.value).front();
  FAIL("there is no row " << row);
  return 0;
}

/// The tutorial's mp on 16 A100, 64 samples a step, in fp16, of layers of libtorch.
Config tutorial(std::int64_t tp, std::int64_t cp) {
  Config out;
  out.model.embed = 1024;
  out.loader.kind = LoaderKind::gpu;
  out.amp.mode = AmpMode::fp16;
  out.fusion = {};
  out.fusion.adam = true;
  out.fusion.qkv = out.fusion.residual_norm = out.fusion.bias_gelu = out.fusion.head_loss = false;
  out.run.ranks = 16;
  out.mesh.tp = tp;
  out.mesh.cp = cp;
  out.train.global_batch = 64;
  return out;
}

/// `messages`: those of its code; none = those of these lessons.
SimulatedStep simulated(const Config& config, const std::vector<AxisMessage>& messages = {}) {
  const StepForm form = step_form(splitting(), config, /*on_cuda=*/true);
  TrainingJob job = job_of(config, form.shape, 16, 2);
  job.gpus = 16;
  if (!messages.empty()) job.messages = messages;
  ClusterMachine machine = read_cluster(project_home() / "submit/profiles/perlmutter.toml");
  return simulate_step(machine, job, fitted_terms(), predict_step(form, rates_of("A100-40GB")).step_us());
}

/// Two all-reduces of 16 bits a block forward, and four of 32 bits backward, q, k and v each by itself.
std::vector<AxisMessage> coded_messages() {
  const TensorParallelForm form{.tp = 4, .samples = 16, .value_bytes = 2, .gradient_bytes = 8};
  return tensor_messages(VitShape{.embed = 1024}, form, 1);
}

}  // namespace

TEST_CASE("the tutorial's pair is predicted: shared tokens are faster than split layers, and for this") {
  const SimulatedStep tokens = simulated(tutorial(1, 4));
  const SplitComparison as_coded = compare_splits(tokens, simulated(tutorial(4, 1), coded_messages()));
  const SplitComparison here = compare_splits(tokens, simulated(tutorial(4, 1)));
  // Published: 165.7 samples/s against 126.4, 1.31 times as many.
  const double ratio = published("mp_cp4") / published("mp_tp4");
  for (const SplitComparison* const one : {&as_coded, &here}) {
    CHECK(one->tokens_are_faster());
    INFO("predicted " << one->layers_us() / one->tokens_us() << ", published " << ratio);
    CHECK(one->layers_us() / one->tokens_us() > 1.15);
    CHECK(one->layers_us() / one->tokens_us() < 1.85);
  }
  CHECK(here.layers_us() / here.tokens_us() == Approx(ratio).epsilon(0.1));
  // With the tutorial's messages these are most of it: 23.9 GB inside a model against 4.8 and both ends.
  CHECK(as_coded.largest().name == "communication");
  // With half the messages' bytes it is what each rank computes of norms and sums over all tokens.
  CHECK(here.largest().name == "computing");
  CHECK_THAT(as_coded.sentence(4), says("mesh.cp=4 takes") && says("communication"));
}

TEST_CASE("the tutorial's memory is predicted in the right order, and both too low") {
  const MemoryFacts facts{.on_cuda = true, .value_bytes = 2};
  const auto gib = [&](const Config& config) {
    return static_cast<double>(plan_memory(config, facts).total()) / (1 << 30);
  };
  const double tokens = gib(tutorial(1, 4)), layers = gib(tutorial(4, 1));
  CHECK(published("mp_cp4_memory") < published("mp_tp4_memory"));
  CHECK(tokens < layers);
  INFO(tokens << " and " << layers);
  for (const auto& [found, row] : {std::pair(tokens, "mp_cp4_memory"), {layers, "mp_tp4_memory"}}) {
    CHECK(found < published(row));  // a pool's gaps, and what libraries hold beside them
    CHECK(found > 0.5 * published(row));
  }
}

TEST_CASE("one step here, with the ranks of a model on tokens and on layers, term by term") {
  Config config = tutorial(1, 2);
  config.data.grid = {48, 96};
  config.data.source = DataSource::synthetic;
  config.model.embed = 96;
  config.model.depth = 4;
  config.model.heads = 2;
  config.amp.mode = AmpMode::none;
  config.run.ranks = 2;
  config.train.global_batch = 4;
  const LessonInfo lesson = splitting();
  const SplitComparison found = compare_splits(lesson, config, made_rates(), {.count = 2});
  const StepStages tokens = predict_stages(lesson, config, made_rates(), {.count = 2}),
                   layers = predict_stages(lesson, with_split_layers(config), made_rates(), {.count = 2});
  CHECK(found.tokens_us() == Approx(tokens.step_us()));
  CHECK(found.layers_us() == Approx(layers.step_us()));
  CHECK(found.tokens_bytes == tokens.model_wire_bytes);
  CHECK(found.layers_bytes == layers.model_wire_bytes);
  double least = 0;
  for (const SplitTerm& term : found.terms) least = std::max(least, std::fabs(term.saved_us()));
  CHECK(std::fabs(found.largest().saved_us()) <= least);
  CHECK(can_split_layers(config));
  CHECK(with_split_layers(config).mesh.tp == 2);
  CHECK(with_split_layers(config).mesh.cp == 1);
  config.model.window = 4;
  CHECK_FALSE(can_split_layers(config));  // nothing to set it beside: layers attend to all
  config.model.window = 0;
  config.mesh.cp = 3;
  CHECK_FALSE(can_split_layers(config));
}

}  // namespace isobar::test_split_comparison
