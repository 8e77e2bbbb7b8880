#include "cli/ladder_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/text.h"

namespace isobar {

namespace {

constexpr std::size_t kLadderColumns = 75;

std::string speed_text(const std::optional<SpeedUp>& speed) { return speed ? ratio_text(*speed) : "-"; }

std::string parity_text(const RungVerdict& verdict) {
  switch (verdict.parity) {
    case Parity::baseline:
      return "(the first)";
    case Parity::bit_equal:
      return "bit-equal";
    case Parity::within:
      return fmt::format("alike {:+.2g} %", 100 * verdict.difference);
    case Parity::differs:
      return fmt::format("DIFFERS {:+.2g} %", 100 * verdict.difference);
    case Parity::unknown:
      break;
  }
  return "-";
}

std::string short_bytes(double bytes) {
  return bytes > 0 ? human_bytes(static_cast<std::uint64_t>(bytes)) : "-";
}

std::int64_t crowded_runs(const MeasuredPoint& point) {
  return std::count_if(point.repeats.begin(), point.repeats.end(),
                       [](const SteadyFigures& one) { return one.view.summary.is_crowded(); });
}

TableRow speed_row(const MeasuredPoint& point, const RungVerdict& verdict) {
  const Spread& rate = verdict.rate;
  if (rate.empty()) return {point.name, "-", "", "-", "-", "-", "-"};
  return {point.name,
          fmt::format("{:.1f}", rate.median()),
          crowded_runs(point) > 0 ? "!" : "",
          rate.values.size() < 2 ? "-" : fmt::format("{:.1f} .. {:.1f}", rate.least(), rate.most()),
          speed_text(verdict.on_previous),
          speed_text(verdict.on_baseline),
          verdict.mfu > 0 ? fmt::format("{:.1f} %", 100 * verdict.mfu) : "-"};
}

TableRow reason_row(const std::string& lesson, const RungVerdict& verdict) {
  const std::string type = verdict.precision + (verdict.emulated ? " emulated" : "");
  return {lesson,
          type,
          verdict.parts.is_known() ? verdict.parts.text(2) : "-",
          verdict.valid_loss.empty() ? "-" : fmt::format("{:.4f}", verdict.valid_loss.median()),
          parity_text(verdict),
          short_bytes(verdict.peak_bytes)};
}

std::string peak_sentence(const LadderResult& result) {
  std::set<std::string> told;
  for (const RungVerdict& verdict : result.verdicts) {
    if (verdict.peak_flops_per_s > 0) {
      told.insert(fmt::format("{} {} ({})", verdict.arithmetic, human_flops(verdict.peak_flops_per_s),
                              verdict.peak_of_data_sheet ? "data sheet" : "matrix products, measured here"));
    }
  }
  // Measured a little differently in each rung: one figure a type is enough.
  std::vector<std::string> parts;
  for (const std::string& one : told) {
    const std::string type = one.substr(0, one.find(' '));
    const bool is_new = std::none_of(parts.begin(), parts.end(),
                                     [&](const std::string& part) { return part.rfind(type + " ", 0) == 0; });
    if (is_new) parts.push_back(one);
  }
  return parts.empty() ? "" : "MFU is of " + joined(parts) + ".";
}

/// Of the lessons that have some; the JSON form says each for itself.
Json add_published(Report& report, const LadderResult& result) {
  Json out = Json::array();
  std::set<std::int64_t> years;
  std::string device;
  for (const LessonInfo& lesson : result.lessons) {
    years.insert(lesson.published.years.begin(), lesson.published.years.end());
    if (device.empty()) device = lesson.published.device;
  }
  if (years.empty()) return out;
  report.line(
      fmt::format("\nsamples/s published by the ERA5 tutorial on one {}, batch 16 of 360 x 720", device));
  report.line("(recorded there, not here: rows of one column compare, nothing else does)");
  std::vector<TableRow> rows = {{"lesson"}};
  for (const std::int64_t year : years) rows.front().push_back(std::to_string(year));
  for (const LessonInfo& lesson : result.lessons) {
    const Published& published = lesson.published;
    if (published.years.empty()) continue;
    TableRow row = {lesson.name};
    for (const std::int64_t year : years) {
      const auto found = std::find(published.years.begin(), published.years.end(), year);
      const auto at = static_cast<std::size_t>(found - published.years.begin());
      row.push_back(at < published.samples_per_s.size() ? fmt::format("{:.2f}", published.samples_per_s[at])
                                                        : "-");
    }
    rows.push_back(std::move(row));
    out.push_back({{"lesson", lesson.name},
                   {"provenance", "recorded"},
                   {"device", published.device},
                   {"years", published.years},
                   {"samples_per_s", published.samples_per_s},
                   {"stacks", published.stacks}});
  }
  report.table(rows, 1);
  return out;
}

Json speed_json(const std::optional<SpeedUp>& speed) {
  if (!speed) return nullptr;
  Json out = {{"over", speed->over}};
  add_to(out, *speed);
  return out;
}

Json rung_json(const MeasuredPoint& point, const LessonInfo& lesson, const RungVerdict& verdict) {
  Json out = {{"lesson", point.name}, {"title", lesson.title}};
  point.add_to(out);
  if (point.repeats.empty()) return out;
  out["precision"] = verdict.precision;
  out["emulated"] = verdict.emulated;
  if (!verdict.rate.empty()) {
    out["speed_up_on_previous"] = speed_json(verdict.on_previous);
    out["speed_up_on_baseline"] = speed_json(verdict.on_baseline);
  }
  out["crowded_runs"] = crowded_runs(point);
  out["mfu"] = verdict.mfu > 0 ? Json(verdict.mfu) : Json();
  out["peak_flops_per_s"] = verdict.peak_flops_per_s;
  out["peak_source"] = verdict.peak_of_data_sheet ? "data sheet" : "matrix products";
  if (verdict.parts.is_known()) {
    out["bound"] = kPartNames[static_cast<std::size_t>(verdict.parts.largest())];
    for (std::size_t i = 0; i < kPartNames.size(); ++i) out["parts"][kPartNames[i]] = verdict.parts.shares[i];
  }
  out["valid_loss"] = verdict.valid_loss.empty() ? Json() : Json(verdict.valid_loss.median());
  out["parity"] = parity_name(verdict.parity);
  out["trains_differently"] = verdict.parity == Parity::differs;
  out["difference"] = verdict.difference;
  out["band"] = verdict.band;
  out["peak_bytes"] = verdict.peak_bytes;
  out["notes"] = verdict.notes;
  return out;
}

}  // namespace

Report ladder_report(const LadderResult& result, const MeasuredRuns& runs,
                     const MeasureArguments& arguments) {
  Report out;
  const std::int64_t repeats = arguments.repeats;
  const std::int64_t steps = runs.config(0).config.train.steps;
  const RunView* const first = runs.first_view();  // one preset and number of steps for all
  out.line(fmt::format("ladder: preset {} on {}, {} steps, {} in turn{}", runs.config(0).preset,
                       runs.device(), steps, counted(repeats, "repeat"),
                       runs.was_stopped() ? ", stopped before the end" : ""));
  out.line(fmt::format("(measured here; rates without the warm-up of {} steps)",
                       first == nullptr ? 0 : first->summary.warm_up_steps));
  std::vector<TableRow> speed = {{"lesson", "samples/s", "", "min .. max", "on last", "on first", "MFU"}};
  std::vector<TableRow> reasons = {
      {"lesson", "type", "where the time goes", "valid", "like the first", "memory"}};
  Json rungs = Json::array();
  for (std::size_t i = 0; i < result.verdicts.size(); ++i) {
    const MeasuredPoint& point = runs.points()[i];
    rungs.push_back(rung_json(point, result.lessons[i], result.verdicts[i]));
    if (point.repeats.empty()) {
      const std::string failure = first_line(point.failure, "", 200);
      speed.push_back({point.name + "  " + (failure.empty() ? "not run" : "failed: " + failure)});
      continue;
    }
    speed.push_back(speed_row(point, result.verdicts[i]));
    reasons.push_back(reason_row(point.name, result.verdicts[i]));
  }
  out.table(speed, 1);
  if (shared_processors(runs).runs > 0)
    out.line("  ! other programs took part of the processors: this rate is low");
  out.line(
      static_cast<std::size_t>(repeats) >= kLeastRepeats
          ? "  ± half of the 95 % interval; same: it holds 1, or less than 2 % apart\n"
          : fmt::format("  fewer than {0} repeats tell only what lies far apart: --repeats {0} tells more\n",
                        kLeastRepeats));
  out.table(reasons, 3);
  out.line("  valid: the last validation loss; alike: within 2 % (16 bits) or 0.01 %");
  for (const RungVerdict& verdict : result.verdicts) {
    for (const std::string& note : verdict.notes) out.wrapped("! " + note, kLadderColumns);
  }
  for (const std::string& sentence : result.left_out) out.wrapped(sentence, kLadderColumns);
  if (const std::string peak = peak_sentence(result); !peak.empty()) out.wrapped(peak, kLadderColumns);
  out.json = head_json("ladder", runs.group(), steps, runs, arguments);
  out.json["rungs"] = rungs;
  out.json["left_out"] = result.left_out;
  out.json["published"] = add_published(out, result);
  out.line("");
  add_end(out, runs, "repeat");
  return out;
}

}  // namespace isobar
