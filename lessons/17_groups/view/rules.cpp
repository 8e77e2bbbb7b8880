// Rules of groups of ranks: which order of axes leaves least between nodes, whether settings divide, which
// axis fits and is fastest, and where two figures of a run went.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyse/cluster_prediction.h"
#include "analyse/mesh_figures.h"
#include "cluster/profile.h"
#include "config/load.h"
#include "core/error.h"
#include "core/find.h"
#include "core/number_text.h"
#include "core/text.h"
#include "course/rules/parts.h"
#include "formula/memory_plan.h"
#include "links.h"

namespace isobar::lesson_17 {
namespace {

LessonInfo lesson_in(const RuleInput& input) {
  return read_lesson(input.home, input.argument("lesson", input.question.lesson));
}

constexpr int kMostRanksAsked = 1024;

// ---- Axes on links ---------------------------------------------------------------------------------------

AxisBytesSent bytes_in(const RuleInput& input) {
  AxisBytesSent out;
  for (const std::string& one : input.arguments("bytes")) {
    const std::vector<std::string> words = split(one, ' ');
    const auto bytes = words.size() == 2 ? number_of<double>(words[1]) : std::nullopt;
    if (!bytes)
      wrong_question(input, "\"" + printable(one, 60) + "\" is no axis with its bytes", "\"tp 9.6\"");
    out.emplace_back(words[0], *bytes);
  }
  return out;
}

struct PlacedAxes {
  std::string key;
  Mesh mesh;
  double outside = 0;
};

std::vector<PlacedAxes> placed_axes(const RuleInput& input, const AxisBytesSent& bytes, int node) {
  std::vector<PlacedAxes> out;
  const LessonInfo lesson = lesson_in(input);
  for (const QuestionChoice& choice : input.question.choices) {
    const Mesh mesh = mesh_of(load_config(input.home, lesson, {.sets = choice.shows}, "cpu").config);
    out.push_back({choice.key, mesh, leave_node(mesh, bytes, node)});
  }
  std::ranges::stable_sort(out, {}, &PlacedAxes::outside);
  return out;
}

Truth axes_on_links_truth(const RuleInput& input) {
  constexpr double kNear = 1.01;
  const int node = whole_argument(input.question, "node", 1, kMostRanksAsked);
  const AxisBytesSent bytes = bytes_in(input);
  const std::vector<PlacedAxes> placed = placed_axes(input, bytes, node);
  if (placed.size() < 2 || placed[1].outside < kNear * placed[0].outside)
    wrong_question(input, "two choices send about as little between nodes", "other bytes, or another order");
  const PlacedAxes& best = placed.front();
  Truth out;
  out.accepted = {best.key};
  std::vector<std::string> inside, between;
  for (const auto& [axis, sent] : bytes)
    (leaves_node(best.mesh, axis, 1, node) > 0 ? between : inside).push_back(axis);
  out.figures = {{"value", text_of_choice(input.question, best.key)},
                 {"best", figure_text(best.outside)},
                 {"worst", figure_text(placed.back().outside)},
                 {"inside", joined(inside, " and ")},
                 {"between", joined(between, " and ")}};
  for (const PlacedAxes& one : placed) out.figures["outside_" + one.key] = figure_text(one.outside);
  out.text = fmt::format("{} GB leave each node, {} in the worst of these", out.figures["best"],
                         out.figures["worst"]);
  out.source = "by formula";
  return out;
}

void check_axes_on_links(const Question& question) {
  if (question.choices.size() < 2 ||
      std::ranges::any_of(question.choices, [](const QuestionChoice& one) { return one.shows.empty(); }))
    wrong_question(question, "each choice is a mesh", "shows = [\"run.ranks=16\", \"mesh.tp=2\", ...]");
}

// ---- Settings --------------------------------------------------------------------------------------------

const std::vector<std::string> kSettingsKeys = {"runs", "model", "ensemble", "read", "rows"};

Truth settings_check_truth(const RuleInput& input) {
  Truth out;
  out.figures = {{"error", "none"}, {"hint", "none"}};
  const std::string key = input.argument("key"), at = input.argument("at");
  try {
    load_config(input.home, lesson_in(input),
                {.preset = input.argument("preset", "cpu_micro"), .sets = input.arguments("set")}, "cpu");
  } catch (const Error& error) {
    out.figures = {{"error", printable_line(error.what(), 300)}, {"hint", printable_line(error.hint(), 300)}};
  }
  const std::string& found = out.figures["error"];
  const bool is_so = key == "runs" ? found == "none" : !at.empty() && found.find(at) != std::string::npos;
  if (!holds(kSettingsKeys, key) || !is_so)
    wrong_question(input, "these settings give \"" + found + "\"", "key and at as they are refused");
  out.accepted = {key};
  out.text = key == "runs" ? "it runs" : "refused: " + found;
  out.source = "by the check of settings";
  return out;
}

void check_settings_check(const Question& question) {
  check_choice_keys(question, kSettingsKeys, /*all=*/true);
}

// ---- What fits and is fastest ----------------------------------------------------------------------------

struct FitWay {
  std::string key;
  Settings settings;
  double gib = 0, rate = 0;  ///< GiB a rank takes; samples/s, 0 = it does not fit
};

std::vector<FitWay> ways_in(const RuleInput& input) {
  std::vector<FitWay> out;
  for (const std::string& one : input.arguments("ways")) {
    const std::vector<std::string> words = split(one, ' ');
    if (words.size() != 2) wrong_question(input, "a way is a key with settings", "\"tp mesh.tp=4\"");
    FitWay way{.key = words[0],
               .settings = {.preset = input.argument("preset"), .sets = input.arguments("set")}};
    std::ranges::copy(split(words[1], ','), std::back_inserter(way.settings.sets));
    out.push_back(std::move(way));
  }
  return out;
}

void predict_way(const RuleInput& input, FitWay& way) {
  constexpr double kGib = 1024.0 * 1024 * 1024;
  const LessonInfo lesson = lesson_in(input);
  const int ranks = whole_argument(input.question, "ranks", 1, kMostRanksAsked);
  Settings placed = way.settings;
  placed.sets.push_back(fmt::format("run.ranks={}", ranks));
  const Config config = load_config(input.home, lesson, placed, "cuda").config;
  way.gib = static_cast<double>(plan_memory(lesson, config, memory_facts(config, true)).total()) / kGib;
  if (way.gib > number_argument(input, "gib")) return;
  const std::string cluster = input.argument("cluster", "leonardo");
  const ClusterMachine machine = read_cluster(input.home / "submit/profiles" / (cluster + ".toml"));
  const ClusterStudy study =
      study_clusters({machine}, lesson, way.settings, ScalingLaw::strong, ranks, {}, "");
  way.rate = study.clusters.front().last().samples_per_s.middle;
}

Truth fits_fastest_truth(const RuleInput& input) {
  constexpr double kNear = 1.03;
  std::vector<FitWay> ways = ways_in(input);
  Truth out;
  std::vector<std::string> fits;
  for (FitWay& way : ways) {
    predict_way(input, way);
    if (way.rate > 0) fits.push_back(way.key);
    out.figures["gib_" + way.key] = figure_text(way.gib);
    out.figures["rate_" + way.key] =
        way.rate > 0 ? figure_text(way.rate) + " samples/s" : std::string("it does not fit");
  }
  std::ranges::stable_sort(ways, std::greater<>(), &FitWay::rate);
  if (ways.size() > 1 && ways[0].rate > 0 && ways[0].rate < kNear * ways[1].rate)
    wrong_question(input, "two ways are about as fast", "settings under which one is faster");
  const bool fits_any = !ways.empty() && ways[0].rate > 0;
  const std::string key = fits_any ? ways[0].key : "no";
  out.accepted = {key};
  out.figures["value"] = text_of_choice(input.question, key);
  out.figures["fits"] = joined(fits);
  out.figures["gib_best"] = fits_any ? figure_text(ways[0].gib) : "-";
  out.figures["rate_best"] = fits_any ? figure_text(ways[0].rate) + " samples/s" : "it does not fit";
  out.text = fits_any ? fmt::format("{} fits with {} GiB and gives {}", key, out.figures["gib_best"],
                                    out.figures["rate_best"])
                      : "none of these fits";
  out.source = "predicted by model";
  return out;
}

void check_fits_fastest(const Question& question) {
  std::vector<std::string> keys = {"no"};
  for (const std::string& one : question.arguments("ways")) keys.push_back(split(one, ' ').front());
  check_choice_keys(question, keys);
}

// ---- Two figures -----------------------------------------------------------------------------------------

const Figure& counted_figure(const Question& question, const std::string& name) {
  const Figure* const found = figure_named(name);
  if (found == nullptr || found->made == Made::timed)
    wrong_question(question, "\"" + printable(name, 60) + "\" is no figure that runs count",
                   "of = [\"read_mb_per_step\", \"valid_loss\"]");
  return *found;
}

double middle_of_run(const Figure& figure, const NamedRun& run) {
  const Spread values = values_of(figure, run.run->repeats);
  if (values.empty()) throw Cannot{fmt::format("`{}` reports no {}", run.name, figure.name), run.name};
  return values.median();
}

Truth both_directions_truth(const RuleInput& input) {
  const auto [base, other] = ended_pair(input);
  const double within = number_argument(input, "within", 0.02);
  Truth out;
  std::vector<std::string> ways, words;
  for (const std::string& name : input.arguments("of")) {
    const Figure& figure = counted_figure(input.question, name);
    const double before = middle_of_run(figure, base), after = middle_of_run(figure, other);
    out.figures["base_" + name] = number_text(figure.quantity, before);
    out.figures["other_" + name] = number_text(figure.quantity, after);
    const double band = within * std::max(std::fabs(before), std::fabs(after));
    ways.push_back(word_between(before, after, band, "down", "up"));
    words.push_back(fmt::format("{} from {} to {}", figure.name, with_unit(figure.quantity, before),
                                with_unit(figure.quantity, after)));
  }
  const std::string key = joined(ways, "_");
  out.accepted = {key};
  out.figures["value"] = text_of_choice(input.question, key);
  out.text = joined(words);
  out.source = source_of(base);
  return out;
}

void check_both_directions(const Question& question) {
  const std::vector<std::string> of = question.arguments("of");
  if (of.size() != 2) wrong_question(question, "two figures are asked for", "of = [\"spread\", \"crps\"]");
  for (const std::string& name : of) counted_figure(question, name);
  check_choice_keys(question, pairs_of({"down", "same", "up"}));
}

using enum AnswerKind;
// clang-format off
const LessonRules kRules{{
  {"axes_on_links",
   "the mesh (a choice that `shows` its settings) of which least leaves a node of so many ranks, by what a rank "
   "sends along each axis: bytes = \"tp 9.6\", ...",
   {choice}, {"node", "bytes"}, {"lesson"}, axes_on_links_truth, nullptr, check_axes_on_links},
  {"both_directions",
   "where two counted figures (`of`) of `other` lie beside those of `base`: up_same, down_up, ...; up to `within` "
   "apart they are the same",
   {choice}, {"base", "other", "of"}, {"within"}, both_directions_truth, nullptr, check_both_directions},
  {"fits_fastest",
   "the way (ways = \"tp mesh.tp=4\", ...) that fits `gib` GiB a GPU and makes most samples/s on `ranks` of a "
   "`cluster`, by simulation; no where none fits",
   {choice}, {"preset", "ranks", "gib", "ways"}, {"set", "cluster", "lesson"}, fits_fastest_truth, nullptr,
   check_fits_fastest},
  {"settings_check",
   "whether settings (`set`) run, or which rule of sizes refuses them: model, ensemble, read, rows; `key` states it, "
   "`at` is part of the refusal",
   {choice}, {"set", "key"}, {"at", "preset", "lesson"}, settings_check_truth, nullptr, check_settings_check},
}};
// clang-format on

}  // namespace
}  // namespace isobar::lesson_17
