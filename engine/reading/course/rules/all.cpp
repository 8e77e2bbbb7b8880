#include "course/rules/all.h"

#include <algorithm>

#include "course/rules/parts.h"

namespace isobar {

namespace {

using enum AnswerKind;

// clang-format off
const std::vector<Rule> kRules = {
  {"best",
   "the runs (their numbers) that are the same as the best by their figure (samples_per_s); take = \"smallest\": the "
   "smallest of these numbers",
   {number, choice}, {}, {"runs", "of", "take"}, best_truth, is_timed_measure, check_best},
  {"calculation",
   "a number worked out from what is given: is = \"2 * ({ranks} - 1)\"; `beside` names more: \"chunk_mb {mb} / "
   "{ranks}\"",
   {number}, {"is"}, {"beside"}, calculation_truth, nullptr, check_calculation},
  {"curve",
   "the shape of a curve of losses beside a healthy one: same, slower, flat, rises, lower, stops",
   {choice}, {"healthy", "fault"}, {"curve"}, curve_truth, nullptr, check_curve},
  {"direction",
   "whether the figure (samples_per_s) of `other` is above that of `base`; shares `within` (0.01) are the same",
   {direction}, {"base", "other"}, {"of", "less", "over", "within"}, direction_truth, is_timed_measure,
    check_direction},
  {"first_apart",
   "when training losses of two runs part, by more than a share `within` (0): never, later (than at first), first",
   {choice}, {"base", "other"}, {"within"}, first_apart_truth, nullptr, check_first_apart},
  {"fixed",
   "the choice that is right by definition or by the code",
   {choice}, {"key"}, {}, fixed_truth, nullptr, check_fixed},
  {"formula",
   "a value by formula: gpus_for_mesh, compile_pays, memory_fits, peak_gib, upload_ms, data_rate, roofline_us, "
   "ring_messages, ring_bytes, root_bytes, graph_pays, mesh_group",
   {number, choice}, {"name"}, {"tp", "dp", "global", "local", "compile_s", "saved_s", "every", "lesson",
    "preset", "set", "device", "mb", "gib", "gb_per_s", "samples_per_s", "gflop", "tflop_per_s", "percent",
    "ranks", "order", "rank", "axis", "cp", "pp", "ens", "read"}, formula_truth, nullptr, check_formula},
  {"gain",
   "share of the step of `other` by which its fields take longer than those of `base`, in %",
   {number}, {"base", "other", "of"}, {}, gain_truth, always_timed, check_unit<Quantity::share>},
  {"largest",
   "the choice whose formula gives the most: of = [\"latency 2 * ({ranks} - 1) * 0.014\", \"jitter 3\"]",
   {choice}, {"of"}, {}, largest_truth, nullptr, check_largest},
  {"line",
   "lines of the lesson's main.cpp that hold an anchor, each until the line that holds its end",
   {find}, {}, {"anchors", "ends", "stop"}, line_truth},
  {"loss_direction",
   "whether the validation loss of `other` is above that of `base`, at equal samples or at the end",
   {direction}, {"base", "other"}, {"at"}, loss_direction_truth},
  {"made",
   "runs of the learner's: of one the figure `of` (as in value) from `least` to `most`, in MB, ms or %; of two one is "
   "so many `times` as good, that with the setting `wins`. `keeps`: settings of each (train.steps>=100); `differ`: "
   "the keys of which two differ in one",
   {make}, {"of"}, {"less", "over", "least", "most", "times", "wins", "keeps", "differ"}, made_truth, is_timed_measure,
    check_made},
  {"made_overlap",
   "a run of the learner's in which so many % of a track's time lie beside a stage",
   {make}, {"track", "stage", "share"}, {}, made_overlap_truth},
  {"overlapping_track",
   "the kind of track (upload, load, bucket) that runs most beside a stage (forward)",
   {choice}, {"run"}, {"stage"}, overlapping_track_truth},
  {"published",
   "the ratio of two rows of lessons/published.toml in a year",
   {number}, {"above", "below", "year"}, {}, published_truth, nullptr, check_unit<Quantity::ratio>},
  {"ratio",
   "how many times the figure (samples_per_s) of `base` that of `other` is; 1 inside the spread; in % too",
   {number}, {"base", "other"}, {"of", "less", "over"}, ratio_truth, is_timed_measure, check_ratio},
  {"replica_distance",
   "what the distance between replicas does: stays, grows, shrinks, zero",
   {choice}, {"run"}, {}, replica_distance_truth},
  {"value",
   "a figure of a run, `of` its name in analyse/figure.cpp, or the time of fields of a step, without those of "
   "`less`, as a share `over` others; `beside`: figures for its texts; of a choice `classes`, \"half 0.25\"",
   {number, choice}, {"run", "of"}, {"less", "over", "beside", "classes"}, value_truth, is_timed_measure, check_value},
};
// clang-format on

/// Lessons add theirs before main() begins.
std::vector<Rule>& lesson_rules() {
  static std::vector<Rule> out;
  return out;
}

std::vector<Rule> by_name() {
  std::vector<Rule> out = kRules;
  out.insert(out.end(), lesson_rules().begin(), lesson_rules().end());
  std::ranges::sort(out, {}, [](const Rule& rule) { return std::string_view(rule.name); });
  return out;
}

}  // namespace

LessonRules::LessonRules(std::vector<Rule> rules) {
  for (Rule& one : rules) lesson_rules().push_back(std::move(one));
}

std::span<const Rule> all_rules() {
  static const std::vector<Rule> kAll = by_name();
  return kAll;
}

}  // namespace isobar
