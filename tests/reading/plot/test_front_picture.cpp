// Speed against memory: what is predicted, what fits, and runs beside it.
#include "config/toml_text.h"
#include "core/files.h"
#include "core/find.h"
#include "core/machine.h"
#include "core/text.h"
#include "formula/device_rates.h"
#include "formula/step_time.h"
#include "plot/front_picture.h"
#include "support/errors.h"
#include "support/made_runs.h"

using namespace isobar;

namespace {

constexpr std::uint64_t k40GiB = std::uint64_t{40} << 30;

LessonInfo fused() { return read_lesson(project_home(), "05_fusion"); }

double h200_rate(const LessonInfo& lesson, const Config& config) {
  const StepForm form = step_form(lesson, config, /*on_cuda=*/true);
  const DeviceRates* const h200 = find_by(device_rates(), &DeviceRates::name, std::string("H200"));
  return static_cast<double>(config.train.global_batch) / predict_step(form, *h200).step_us() * 1e6;
}

/// The preset mp on one device of so much memory.
MemoryFront front_of_mp(const PredictedRate& rate, std::uint64_t limit_bytes = k40GiB) {
  const LessonInfo lesson = fused();
  const Settings settings{.preset = "mp", .sets = {}};
  const Config config = load_config(project_home(), lesson, settings, "cuda").config;
  return {.title = "05_fusion, preset mp, 64 samples",
          .where = "H200",
          .ways = front_ways(project_home(), {.lesson = lesson,
                                              .settings = settings,
                                              .config = config,
                                              .facts = memory_facts(config, true),
                                              .limit_bytes = limit_bytes,
                                              .rate = rate}),
          .limit_bytes = limit_bytes};
}

const PredictedWay& way_like(const MemoryFront& front, const WayKind& kind) {
  return *find_where(front.ways, [&](const PredictedWay& way) { return way_kind(way.way.config) == kind; });
}

std::string in_terminal(const MemoryFront& front, TextStyle::Glyphs glyphs) {
  return isobar::joined(drawing_lines(front_drawing(front), {.glyphs = glyphs, .columns = 80}), "\n");
}

}  // namespace

TEST_CASE("the front has each choice of what is computed again with each number of passes") {
  const MemoryFront front = front_of_mp(h200_rate);
  const std::int64_t kinds = 4 + 5;  // none, cheap, selective, block; block every 2, 3, 4, 6, 12
  CHECK(std::ssize(front.ways) == kinds * 7);
  const PredictedWay& kept = way_like(front, {});
  const PredictedWay& block = way_like(front, {CheckpointKind::block, 1, 2});
  CHECK_FALSE(kept.fits);
  CHECK(block.fits);
  CHECK(block.samples_per_s < kept.samples_per_s);
  CHECK(block.way.plan.total() < way_like(front, {CheckpointKind::selective, 1, 2}).way.plan.total());
  const PredictedWay* const best = fastest_fit(front);
  REQUIRE(best != nullptr);
  CHECK(best->way.plan.total() <= k40GiB);
  for (const PredictedWay& way : front.ways)
    if (way.fits) CHECK(way.samples_per_s <= best->samples_per_s);
}

TEST_CASE("the picture of the front names the cap, the fastest that fits, and what no cap lets through") {
  const MemoryFront front = front_of_mp(h200_rate);
  const Drawing drawing = front_drawing(front);
  CHECK_THAT(drawing.alt, says("63 ways") && says("The fastest that fits into 42.9 GB"));
  CHECK_THAT(drawing_svg(drawing), says("fits into 42.9 GB") && says("predicted samples/s") &&
                                       says("block: whole blocks") && !says("measured a way\n"));
  const std::string lines = in_terminal(front, TextStyle::Glyphs::braille);
  for (const char* const words :
       {"samples/s", "memory of a rank", "fits into", "cheap: norms and GELU again"})
    CHECK_THAT(lines, says(words));
  for (const char letter : in_terminal(front, TextStyle::Glyphs::ascii))
    CHECK((letter == '\n' || (letter >= ' ' && letter <= '~')));
  MemoryFront narrow = front_of_mp(h200_rate, 1'000'000'000);
  CHECK(fastest_fit(narrow) == nullptr);
  CHECK_THAT(front_drawing(narrow).alt, says("None of these fits into 1.00 GB"));
  narrow.ways.clear();
  CHECK_FALSE(front_drawing(narrow).body);
}

TEST_CASE("without rates ways stand by their operations") {
  const MemoryFront front = front_of_mp([](const LessonInfo&, const Config&) { return 0.0; });
  CHECK_THAT(drawing_svg(front_drawing(front)), says("speed by operations"));
  const PredictedWay* const best = fastest_fit(front);
  REQUIRE(best != nullptr);
  CHECK(best->way.computing == 1);
}

TEST_CASE("a run that measured a way stands beside its prediction") {
  MemoryFront front = front_of_mp(h200_rate);
  const PredictedWay& way = way_like(front, {CheckpointKind::block, 3, 2});
  const MeasuredWay run{.way = way_kind(way.way.config),
                        .run = "one",
                        .peak_bytes = way.way.plan.total() / 2,
                        .samples_per_s = way.samples_per_s * 1.25};
  front.measured = {run};
  CHECK_THAT(distance_words(front, run), says("block every 3, 2 passes: measured") &&
                                             says("predicted +100.0 % of memory, -20.0 % of the rate"));
  CHECK_THAT(drawing_svg(front_drawing(front)), says("measured"));
  front.measured[0].way.passes = 5;  // no way of this front
  CHECK_THAT(distance_words(front, front.measured[0]), !says("predicted"));
  CHECK_THAT(front_drawing(front).alt, says("5 passes"));
}

TEST_CASE("runs of this machine are ways of the front where nothing else differs, the newest and quietest") {
  MadeRuns runs;
  Config config = load_config(project_home(), fused(), {.preset = "cpu_micro"}, "cpu").config;
  const Config asked = config;
  config.amp.mode = step_form(fused(), config, false).precision;  // a run writes what it decided
  const Config decided = config;
  const auto add = [&](const std::string& name, double peak, MadeSteps made = {.lesson = "05_fusion"}) {
    made.totals["peak_bytes"] = peak;
    const std::filesystem::path run = runs.add(name, made);
    const std::string environment = fmt::format(
        "\n[environment]\nhost = \"{}\"\ncpu = \"{}\"\ndevice = \"cpu\"\n", host_name(), cpu_name());
    write_file_whole(run / "run.toml", std::string_view(to_toml(config) + environment));
    return run.parent_path();
  };
  add("crowded", 3e8, {.processor_wait = 0.5, .lesson = "05_fusion"});
  config.model.checkpoint = CheckpointKind::block;
  config.train.accumulate = 2;
  const std::filesystem::path parent = add("block", 1e8);
  std::vector<MeasuredWay> found = measured_ways(asked, "here", parent);
  REQUIRE(found.size() == 2);
  CHECK(find_by(found, &MeasuredWay::run, std::string("crowded"))->is_crowded);
  const MeasuredWay* const block = find_by(found, &MeasuredWay::run, std::string("block"));
  CHECK(block->way == WayKind{CheckpointKind::block, 1, 2});
  CHECK(block->peak_bytes == 100'000'000);
  CHECK(block->samples_per_s > 0);
  // Not one of these: a run that stopped, one with another batch, one that made no measurement of its memory.
  config.model.checkpoint = CheckpointKind::cheap;
  add("stopped", 1e8, {.end = "stopped", .lesson = "05_fusion"});
  add("unknown", 0);
  config.train.global_batch *= 2;
  add("wider", 1e8);
  CHECK(measured_ways(asked, "here", parent).size() == 2);
  CHECK(measured_ways(asked, "H200", parent).empty());
  config = decided;
  add("quiet", 2e8);
  found = measured_ways(asked, "here", parent);
  CHECK(find_by(found, &MeasuredWay::way, WayKind{})->run == "quiet");
}
