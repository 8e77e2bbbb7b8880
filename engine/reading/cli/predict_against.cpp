#include "cli/predict_against.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyse/cluster_prediction.h"
#include "cli/report.h"
#include "cluster/profile.h"
#include "core/error.h"
#include "core/text.h"
#include "jobs/job_settings.h"
#include "plot/cluster_picture.h"

namespace isobar {
namespace {

constexpr std::size_t kMostNoted = 6;

std::string percent(double share) { return fmt::format("{:+.1f}", 100 * share); }

Row row_of(const PointResult& result) {
  const PublishedPoint& point = *result.point;
  Row out;
  out.add("id", "point", printable(point.id, 40), point.id);
  out.add("class", "class", name_of(point.kind), name_of(point.kind));
  out.add("split", {"split", 2}, name_of(point.split), name_of(point.split));
  out.add("gpus", "GPUs", std::to_string(point.gpus), point.gpus);
  out.add("published", "published", fmt::format("{:.4g}", point.samples_per_s_per_gpu),
          point.samples_per_s_per_gpu);
  if (!result.predicted) {
    out.json["predicted"] = Json();
    out.json["error"] = Json();
    out.json["reason"] = result.reason;
    return out;
  }
  out.add("predicted", "predicted", fmt::format("{:.4g}", *result.predicted), *result.predicted);
  out.add("error", "error %", percent(result.error), result.error);
  out.add("null_error", {"null %", 1}, percent(result.null_error), result.null_error);
  out.cell({"", 3}, result.suspect.empty() ? "" : "suspect");
  out.json["anchor"] = result.anchor->id;
  out.json["assumed"] = result.assumed;
  if (!result.suspect.empty()) out.json["suspect"] = result.suspect;
  for (const auto& [name, us] : result.terms.named()) out.json["terms_us"][name] = us;
  return out;
}

Row errors_row(const std::string& kind, PointSplit split, const ErrorFigures& errors) {
  Row out;
  out.add("class", "class", kind, kind);
  out.add("split", "split", name_of(split), name_of(split));
  out.add("points", "points", std::to_string(errors.points), errors.points);
  out.add("median", "median |error| %", fmt::format("{:.1f}", 100 * errors.median), errors.median);
  out.add("nine_of_ten", "9 of 10 within %", fmt::format("{:.1f}", 100 * errors.nine_of_ten),
          errors.nine_of_ten);
  out.json["within_25"] = errors.within_25;
  out.add("null_median", {"null median %", 2}, fmt::format("{:.1f}", 100 * errors.null_median),
          errors.null_median);
  const std::string moved = errors.moved == 0
                                ? "-"
                                : fmt::format("{:.1f} / {:.1f} of {}", 100 * errors.moved_median,
                                              100 * errors.moved_null_median, errors.moved);
  out.cell({"moved, null %", 1}, moved);
  out.json["moved"] = {
      {"points", errors.moved}, {"median", errors.moved_median}, {"null_median", errors.moved_null_median}};
  out.cell({"order", 3}, fmt::format("{} of {}", errors.pairs_right, errors.pairs));
  out.json["pairs"] = errors.pairs;
  out.json["pairs_right"] = errors.pairs_right;
  return out;
}

std::vector<Row> errors_rows(const BackTest& test) {
  std::vector<Row> out;
  for (const PointSplit split : {PointSplit::calibration, PointSplit::test}) {
    for (const PointClass kind : {PointClass::dp, PointClass::fsdp, PointClass::pp})
      if (const auto errors = test.errors(split, kind))
        out.push_back(errors_row(name_of(kind), split, *errors));
    if (const auto errors = test.errors(split)) out.push_back(errors_row("all", split, *errors));
  }
  return out;
}

}  // namespace

void add_drawing(Report& out, const ClusterArguments& arguments, const Drawing& drawing) {
  if (!arguments.json) {
    out.line("");
    out.drawn(drawing_lines(drawing, terminal_style()));
  }
  if (arguments.svg.path.empty()) return;
  write_named_file(arguments.svg, drawing_svg(drawing));
  out.labelled("picture", arguments.svg.path.string());
  out.json["svg"] = arguments.svg.path.string();
}

void predict_against(const ClusterArguments& arguments) {
  const PublishedFile file = read_published(arguments.against);
  const BackTest test = back_test(file, fitted_terms(arguments.terms));
  Report out;
  out.line(
      fmt::format("{}: each point predicted from its anchor, samples/s and GPU", arguments.against.string()));
  std::vector<Row> rows;
  std::size_t unmodelled = 0, anchors = 0;
  for (const PointResult& one : test.results) {
    rows.push_back(row_of(one));
    unmodelled += !one.point->is_modelled();
    anchors += one.point->is_modelled() && one.anchor == nullptr;
  }
  std::vector<Row> shown;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (test.results[i].predicted) shown.push_back(rows[i]);
  out.table(table_of(shown));
  out.json["points"] = Json::array();
  for (const Row& row : rows) out.json["points"].push_back(row.json);
  out.line("");
  out.rows("errors", errors_rows(test), 2);
  for (const PointResult& one : test.results)
    if (!one.suspect.empty()) out.labelled("suspect", fmt::format("{}: {}", one.point->id, one.suspect));
  for (const PointResult& one : test.results)
    if (!one.predicted && one.point->is_modelled() && one.anchor != nullptr)
      out.labelled("left out", fmt::format("{}: {}", one.point->id, one.reason));
  if (unmodelled > 0)
    out.labelled("not modelled",
                 counted(static_cast<std::int64_t>(unmodelled), "point") + " of tp, cp: not yet");
  if (std::ranges::none_of(test.results, [](const PointResult& one) { return one.predicted.has_value(); }))
    out.labelled("nothing", "no point has an anchor that it can be predicted from");
  if (anchors > 0)
    out.labelled("anchors", counted(static_cast<std::int64_t>(anchors), "point") +
                                " without one: others are "
                                "predicted from them");
  for (std::size_t i = 0; i < std::min(kMostNoted, file.notes.size()); ++i)
    out.labelled("note", file.notes[i]);
  out.json["notes"] = file.notes;
  out.line(
      "null: as fast as its anchor; moved: further than 5 % from it; order: pairs of a series in the order "
      "published");
  add_drawing(out, arguments, errors_drawing(test, arguments.against.filename().string()));
  out.print(arguments.json);
}

namespace {

std::string open_text(Quantity quantity, const OpenRange& range) {
  return range.is_open() ? range_text(quantity, range.middle, range.least, range.most)
                         : value_text(quantity, range.middle);
}

Json open_json(const OpenRange& range) {
  return {{"middle", range.middle}, {"least", range.least}, {"most", range.most}};
}

Row cluster_row(const ClusterPrediction& prediction, const ClusterPoint& point) {
  Row out;
  const StepTerms& terms = point.step.terms;
  out.add("cluster", {"cluster", 2}, prediction.machine.name, prediction.machine.name);
  out.add("ranks", "GPUs", std::to_string(point.ranks), point.ranks);
  out.add("nodes", {"nodes", 1}, std::to_string(point.nodes), point.nodes);
  out.add("samples_per_s", "samples/s", open_text(Quantity::rate, point.samples_per_s),
          open_json(point.samples_per_s));
  out.add("efficiency", "efficiency", open_text(Quantity::share, point.efficiency),
          open_json(point.efficiency));
  out.add("step_us", "step ms", Quantity::time, terms.step_us());
  out.add("comm_us", "comm ms", Quantity::time, terms.comm_us);
  out.add("jitter_us", {"jitter ms", 3}, Quantity::time, terms.jitter_us);
  for (const auto& [name, us] : terms.named()) out.json["terms_us"][name] = us;
  out.json["comm_total_us"] = point.step.comm_total_us;
  return out;
}

std::vector<ClusterMachine> clusters_of(const ClusterArguments& arguments) {
  std::vector<ClusterMachine> out;
  for (const std::string& name : split(arguments.clusters, ',')) {
    ClusterMachine machine = read_cluster(profile_file(project_home(), name));
    if (std::ranges::any_of(out, [&](const ClusterMachine& one) { return one.name == machine.name; }))
      throw Error("two clusters are called " + printable(machine.name, 40), "--cluster",
                  "clusters with names of their own: the name is that of the file");
    out.push_back(std::move(machine));
  }
  return out;
}

}  // namespace

void predict_clusters(const ClusterArguments& arguments, const LessonInfo& lesson, const Settings& settings,
                      int ranks, const std::string& command) {
  const ScalingLaw law = arguments.law == "strong" ? ScalingLaw::strong : ScalingLaw::weak;
  const ClusterStudy study =
      study_clusters(clusters_of(arguments), lesson, settings, law, ranks, arguments.terms, command);
  const std::vector<ClusterPrediction>& all = study.clusters;
  Report out;
  std::vector<Row> rows;
  out.line(fmt::format("{}, {} scaling, {:g} samples {}, predicted by simulation", lesson.name, law_name(law),
                       all.front().points.front().batch,
                       law == ScalingLaw::weak ? "a GPU and step" : "a step"));
  for (const ClusterPrediction& one : all)
    for (const ClusterPoint& point : one.points) rows.push_back(cluster_row(one, point));
  out.rows("points", rows);
  for (const ClusterPrediction& one : all) {
    const std::string ended = one.ended_by();
    out.labelled(one.machine.name,
                 fmt::format("{} GPUs, computing as {}{}", one.machine.gpu, one.device,
                             ended.empty() ? "" : "; of what is lost at the end, most is " + ended));
    if (const auto& unknown = one.machine.unknown; !unknown.empty()) {
      std::vector<std::string> ranges;
      for (const UnknownTerm& term : unknown)
        ranges.push_back(fmt::format("{} {:g} to {:g}", term.key, term.least, term.most));
      out.labelled("", "not published, hence the ranges: " + joined(ranges));
    }
  }
  out.json["order"] = Json::array();
  for (std::size_t i = 0; i < study.orders.size(); ++i) {
    out.labelled("order", study.order_sentence(i));
    out.json["order"].push_back({{"better", study.orders[i].better}, {"term", study.orders[i].term}});
  }
  const EarnedErrors earned = earned_errors(project_home(), fitted_terms(arguments.terms));
  const bool is_pipeline = all.front().last().step.terms.bubble_us > 0;
  if (const std::string none = ungraded(study.config); !none.empty() && all.front().last().ranks > 1) {
    out.labelled("known error", none);
    out.json["known_error"] = Json();
  } else if (const auto& errors = is_pipeline ? earned.pipelines : earned.data_parallel) {
    out.labelled("known error", earned.sentence(is_pipeline));
    out.json["known_error"] = {{"median", errors->median}, {"nine_of_ten", errors->nine_of_ten}};
  }
  add_drawing(out, arguments, clusters_drawing(lesson.name, all));
  out.print(arguments.json);
}

}  // namespace isobar
