#include "course/rules/all.h"

#include "course/rules/parts.h"

namespace isobar {

namespace {

using enum AnswerKind;

// clang-format off
const std::vector<Rule> kRules = {
  {"all_reduce_ratio",
   "lesson 09: how many times as long the largest buffer takes in `other` as in `base`",
   {number}, {"base", "other"}, {}, all_reduce_ratio_truth, always_timed, check_unit<Quantity::ratio>},
  {"all_reduce_sums",
   "lesson 09: what becomes of the sums of `run`: right, wrong (the same on all ranks), apart (each rank holds "
   "others); of one that is to fail: named (the error names run.fault_rank), failed. `base`: a run whose time "
   "stands beside it",
   {choice}, {"run"}, {"base"}, all_reduce_sums_truth},
  {"bandwidth_falls",
   "lesson 09: which bandwidth of the largest buffer is lower in `other` than in `base`: algbw, busbw, both, "
   "neither",
   {choice}, {"base", "other"}, {}, bandwidth_falls_truth, always_timed, check_bandwidth_falls},
  {"best",
   "the runs (their numbers) that are the same as the best by their figure (samples_per_s)",
   {number, choice}, {}, {"runs", "of"}, best_truth, is_timed_measure, check_best},
  {"bound_by",
   "what bounds a run: data, contention, communication, launch, compute, straggler",
   {choice}, {"run"}, {}, bound_by_truth, always_timed},
  {"buffers_apart",
   "what the buffers of ranks do: constant (the model owns none that change), equal, apart",
   {choice}, {"run"}, {}, buffers_apart_truth},
  {"chunk_owner",
   "lesson 09: the chunk whose whole sum `rank` has after the reduce phase, as the run's messages tell: chunk 0, "
   "chunk 1, ...",
   {choice}, {"run", "rank"}, {}, chunk_owner_truth},
  {"curve",
   "the shape of a curve of losses beside a healthy one: same, slower, flat, rises, lower, stops",
   {choice}, {"healthy", "fault"}, {"curve"}, curve_truth, nullptr, check_curve},
  {"descent_best",
   "lesson 00: the runs whose path turns most, or that take the fewest samples or steps until the loss is "
   "`within` (5) % of the least; same: all are alike",
   {choice}, {"what"}, {"runs", "within"}, descent_best_truth, nullptr, check_descent_best},
  {"direction",
   "whether the figure (samples_per_s) of `other` is above that of `base`; shares `within` (0.01) are the same",
   {direction}, {"base", "other"}, {"of", "less", "over", "within"}, direction_truth, is_timed_measure,
    check_direction},
  {"feedable",
   "devices that one thread could feed: the step over the host's time in it, give or take one",
   {number}, {"run"}, {}, feedable_truth, always_timed, check_unit<Quantity::count>},
  {"fixed",
   "the choice that is right by definition or by the code",
   {choice}, {"key"}, {}, fixed_truth, nullptr, check_fixed},
  {"formula",
   "a value by formula: gpus_for_mesh, compile_pays, memory_fits, peak_gib, upload_ms, data_rate, roofline_us, "
   "ring_messages, ring_bytes, root_bytes, graph_pays, bucket_calls, gradient_bytes, mesh_group",
   {number, choice}, {"name"}, {"tp", "dp", "global", "local", "compile_s", "saved_s", "every", "lesson",
    "preset", "set", "device", "mb", "gib", "gb_per_s", "samples_per_s", "gflop", "tflop_per_s", "percent",
    "ranks", "order", "rank", "axis"}, formula_truth, nullptr, check_formula},
  {"gain",
   "share of the step of `other` by which its fields take longer than those of `base`, in %",
   {number}, {"base", "other", "of"}, {}, gain_truth, always_timed, check_unit<Quantity::share>},
  {"gradient_spread",
   "lesson 00: how many times as far the gradients of `base` stray from that of all samples as those of `other`; "
   "as a choice: noise, equal",
   {number, choice}, {"base", "other"}, {}, gradient_spread_truth, nullptr, check_unit<Quantity::ratio>},
  {"largest_class",
   "what takes most of a predicted step: attention, gemm, elementwise, misc",
   {choice}, {"device"}, {"lesson", "preset", "set"}, largest_class_truth},
  {"largest_gain",
   "the run, each with one piece less than `base`, that is slowest; none if none is slower",
   {choice}, {"base"}, {"runs"}, largest_gain_truth, always_timed},
  {"line",
   "lines of the lesson's main.cpp that hold an anchor, each until the line that holds its end",
   {find}, {}, {"anchors", "ends", "stop"}, line_truth},
  {"link_fit",
   "lesson 09: the latency or bandwidth of the link that fits the run's times over sizes",
   {number}, {"run", "what"}, {}, link_fit_truth, always_timed, check_link_fit},
  {"loss_direction",
   "whether the validation loss of `other` is above that of `base`, at equal samples or at the end",
   {direction}, {"base", "other"}, {"at"}, loss_direction_truth},
  {"made_no_gain",
   "two runs of the learner's that differ in the ranks alone, doubled, and gain nothing",
   {make}, {}, {}, made_no_gain_truth},
  {"made_overlap",
   "a run of the learner's in which so many % of a track's time lie beside a stage",
   {make}, {"track", "stage", "share"}, {}, made_overlap_truth},
  {"overlapping_track",
   "the kind of track (upload, load, bucket) that runs most beside a stage (forward)",
   {choice}, {"run"}, {"stage"}, overlapping_track_truth},
  {"published",
   "the ratio of two rows of lessons/published.toml in a year",
   {number}, {"above", "below", "year"}, {}, published_truth, nullptr, check_unit<Quantity::ratio>},
  {"quickest_all_reduce",
   "the all-reduce that takes the least time by the alpha-beta model: ring, tree, naive",
   {choice}, {"ranks", "mb", "latency_us", "gbit_per_s"}, {}, quickest_truth, nullptr, check_quickest},
  {"rank_paths",
   "lesson 00: the paths of the ranks of `other` beside that of `base`, one rank: same, other (all ranks walk "
   "one other path), offset (a constant distance apart), apart, diverges",
   {choice}, {"base", "other"}, {}, rank_paths_truth},
  {"ratio",
   "how many times the figure (samples_per_s) of `base` that of `other` is; 1 inside the spread; in % too",
   {number}, {"base", "other"}, {"of", "less", "over"}, ratio_truth, is_timed_measure, check_ratio},
  {"replica_distance",
   "what the distance between replicas does: stays, grows, shrinks, zero",
   {choice}, {"run"}, {}, replica_distance_truth},
  {"ring_overtakes",
   "lesson 09: the size from which the ring of `base` is quicker than the tree of `other`",
   {number}, {"base", "other"}, {}, ring_overtakes_truth, always_timed, check_unit<Quantity::bytes>},
  {"skill",
   "yes or no: the headline RMSE after an epoch (1) is below that of persistence",
   {choice}, {"run"}, {"epoch"}, skill_truth},
  {"skips",
   "which of two runs skipped steps; none, or both",
   {choice}, {}, {"runs"}, skips_truth, nullptr, check_skips},
  {"stable_rate",
   "lesson 00: the largest learning rate of full-batch descent that does not diverge; runs on both sides of it "
   "show it",
   {number}, {"runs"}, {}, stable_rate_truth, nullptr, check_unit<Quantity::learning_rate>},
  {"step_overhead",
   "what part of a step of the smallest batch is there whatever the batch, by the time of the largest: overhead "
   "(more than half), samples; as a number in %",
   {choice, number}, {}, {"runs"}, step_overhead_truth, always_timed, check_unit<Quantity::share>},
  {"straggler",
   "the rank that the others wait for: rank 0, rank 1, ..., none",
   {choice}, {"run"}, {}, straggler_truth, always_timed},
  {"value",
   "a figure of a run, `of` its name in analyse/figure.cpp, or the time of fields of a step, without those of "
   "`less`, as a share `over` others; `beside`: figures for its texts; of a choice `classes`, \"half 0.25\"",
   {number, choice}, {"run", "of"}, {"less", "over", "beside", "classes"}, value_truth, is_timed_measure, check_value},
};
// clang-format on

}  // namespace

std::span<const Rule> all_rules() { return kRules; }

}  // namespace isobar
