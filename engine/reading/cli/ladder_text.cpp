#include "cli/ladder_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "cli/text_table.h"
#include "core/json.h"
#include "core/text.h"

namespace isobar {

namespace {

constexpr std::size_t kLadderColumns = 75;

using Row = std::vector<std::string>;

/// Columns that line up: the first `left` from the left, the others from the right.
void print_rows(const std::vector<Row>& rows, std::size_t left) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (std::size_t c = 0; row.size() == widths.size() && c < row.size(); ++c)
      widths[c] = std::max(widths[c], row[c].size());
  }
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += "  " + (c < left ? fmt::format("{:<{}}", row[c], widths[c])
                               : fmt::format("{:>{}}", row[c], widths[c]));
    std::puts(line.substr(0, line.find_last_not_of(' ') + 1).c_str());
  }
}

std::string ratio_text(const std::optional<SpeedUp>& speed) {
  return speed ? fmt::format("x{:.2f}{}", speed->ratio, speed->same ? " =" : "  ") : "-  ";
}

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

Row speed_row(const std::string& lesson, const RungVerdict& verdict) {
  const Spread& rate = verdict.rate;
  const std::string type = verdict.precision + (verdict.emulated ? " emulated" : "");
  if (rate.empty()) return {lesson, "-", "-", "-  ", "-  ", "-", type};
  return {lesson,
          fmt::format("{:.1f}", rate.median()),
          rate.values.size() < 2 ? "-" : fmt::format("{:.1f} .. {:.1f}", rate.least(), rate.most()),
          ratio_text(verdict.on_previous),
          ratio_text(verdict.on_baseline),
          verdict.mfu > 0 ? fmt::format("{:.0f} %", 100 * verdict.mfu) : "-",
          type};
}

Row reason_row(const std::string& lesson, const RungVerdict& verdict) {
  return {lesson, verdict.has_parts() ? verdict.parts_text(2) : "-",
          verdict.valid_loss.empty() ? "-" : fmt::format("{:.4f}", verdict.valid_loss.median()),
          parity_text(verdict), short_bytes(verdict.peak_bytes)};
}

std::string peak_sentence(const LadderResult& result) {
  std::set<std::string> told;
  for (const RungVerdict& verdict : result.verdicts) {
    if (verdict.peak_flops_per_s > 0) {
      told.insert(fmt::format("{} {:.0f} GFLOP/s ({})", verdict.arithmetic, verdict.peak_flops_per_s * 1e-9,
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
  return parts.empty() ? "" : "MFU is of " + join(parts, ", ") + ".";
}

void print_published(const LadderResult& result) {
  std::set<std::int64_t> years;
  std::string device;
  for (const LessonInfo& lesson : result.lessons) {
    years.insert(lesson.published.years.begin(), lesson.published.years.end());
    if (device.empty()) device = lesson.published.device;
  }
  if (years.empty()) return;
  std::printf("\nsamples/s published by the ERA5 tutorial on one %s, batch 16 of 360 x 720\n",
              device.c_str());
  std::puts("(recorded there, not here: rows of one column compare, nothing else does)");
  std::vector<Row> rows = {{"lesson"}};
  for (const std::int64_t year : years) rows.front().push_back(std::to_string(year));
  for (const LessonInfo& lesson : result.lessons) {
    const Published& published = lesson.published;
    if (published.years.empty()) continue;
    Row row = {lesson.name};
    for (const std::int64_t year : years) {
      const auto found = std::find(published.years.begin(), published.years.end(), year);
      const auto at = static_cast<std::size_t>(found - published.years.begin());
      row.push_back(at < published.samples_per_s.size() ? fmt::format("{:.2f}", published.samples_per_s[at])
                                                        : "-");
    }
    rows.push_back(std::move(row));
  }
  print_rows(rows, 1);
}

std::string first_line(const std::string& text) { return printable(text.substr(0, text.find('\n')), 200); }

Json speed_json(const std::optional<SpeedUp>& speed) {
  if (!speed) return nullptr;
  return {{"over", speed->over}, {"ratio", speed->ratio}, {"same", speed->same}};
}

const char* parity_name(Parity parity) {
  static constexpr std::array<const char*, 5> kNames = {"unknown", "baseline", "bit-equal", "within band",
                                                        "differs"};
  return kNames[static_cast<std::size_t>(parity)];
}

Json rung_json(const MeasuredPoint& point, const LessonInfo& lesson, const RungVerdict& verdict) {
  Json folders = Json::array();
  for (const auto& folder : point.runs) folders.push_back(folder.string());
  Json out = {{"lesson", point.name}, {"title", lesson.title}, {"runs", folders}};
  if (!point.failure.empty()) out["failure"] = point.failure;
  if (point.repeats.empty()) return out;
  out["precision"] = verdict.precision;
  out["emulated"] = verdict.emulated;
  if (!verdict.rate.empty()) {
    out["samples_per_s"] = verdict.rate.median();
    out["min"] = verdict.rate.least();
    out["max"] = verdict.rate.most();
    out["speed_up_on_previous"] = speed_json(verdict.on_previous);
    out["speed_up_on_baseline"] = speed_json(verdict.on_baseline);
  }
  out["mfu"] = verdict.mfu > 0 ? Json(verdict.mfu) : Json();
  out["peak_flops_per_s"] = verdict.peak_flops_per_s;
  out["peak_source"] = verdict.peak_of_data_sheet ? "data sheet" : "matrix products";
  if (verdict.has_parts()) {
    out["bound"] = kPartNames[static_cast<std::size_t>(verdict.bound())];
    for (std::size_t i = 0; i < kPartNames.size(); ++i) out["parts"][kPartNames[i]] = verdict.parts[i];
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

std::string device_of(const MeasuredRuns& runs) {
  for (const MeasuredPoint& point : runs.points()) {
    if (!point.repeats.empty()) return point.repeats.front().view.device;
  }
  return "this machine";
}

/// The same for all: one preset and number of steps.
std::int64_t warm_up_of(const MeasuredRuns& runs) {
  for (const MeasuredPoint& point : runs.points()) {
    if (!point.repeats.empty()) return point.repeats.front().view.summary.warm_up_steps;
  }
  return 0;
}

}  // namespace

void print_ladder(const LadderResult& result, const MeasuredRuns& runs) {
  std::printf("ladder: preset %s on %s, %lld steps, %lld repeat%s in turn%s\n", runs.config(0).preset.c_str(),
              device_of(runs).c_str(), static_cast<long long>(runs.config(0).config.train.steps),
              static_cast<long long>(result.repeats), result.repeats == 1 ? "" : "s",
              runs.was_stopped() ? ", stopped before the end" : "");
  std::printf("(measured here; rates without the warm-up of %lld steps)\n",
              static_cast<long long>(warm_up_of(runs)));
  std::vector<Row> speed = {{"lesson", "samples/s", "min .. max", "on last  ", "on first  ", "MFU", "type"}};
  std::vector<Row> reasons = {{"lesson", "where the time goes", "valid", "like the first", "memory"}};
  for (std::size_t i = 0; i < result.verdicts.size(); ++i) {
    const MeasuredPoint& point = runs.points()[i];
    if (point.repeats.empty()) {
      const std::string failure = point.failure.empty() ? "not run" : "failed: " + first_line(point.failure);
      speed.push_back({point.name + "  " + failure});
      continue;
    }
    speed.push_back(speed_row(point.name, result.verdicts[i]));
    reasons.push_back(reason_row(point.name, result.verdicts[i]));
  }
  print_rows(speed, 1);
  std::puts(result.repeats > 1 ? "  = the same inside the spread of the repeats\n"
                               : "  one run each tells no factor: --repeats 3 does\n");
  print_rows(reasons, 2);
  std::puts("  valid: the last validation loss; alike: within 2 % (16 bits) or 0.01 %");
  for (const RungVerdict& verdict : result.verdicts) {
    for (const std::string& note : verdict.notes) print_wrapped("! " + note, kLadderColumns);
  }
  for (const std::string& sentence : result.left_out) print_wrapped(sentence, kLadderColumns);
  if (const std::string peak = peak_sentence(result); !peak.empty()) print_wrapped(peak, kLadderColumns);
  print_published(result);
  std::puts("");
  print_end(runs, "repeat");
}

std::string ladder_json(const LadderResult& result, const MeasuredRuns& runs) {
  Json rungs = Json::array();
  Json published = Json::array();
  for (std::size_t i = 0; i < result.verdicts.size(); ++i) {
    const LessonInfo& lesson = result.lessons[i];
    rungs.push_back(rung_json(runs.points()[i], lesson, result.verdicts[i]));
    if (lesson.published.years.empty()) continue;
    published.push_back({{"lesson", lesson.name},
                         {"provenance", "recorded"},
                         {"device", lesson.published.device},
                         {"years", lesson.published.years},
                         {"samples_per_s", lesson.published.samples_per_s},
                         {"stacks", lesson.published.stacks}});
  }
  const Json out = {{"ladder", runs.group()},
                    {"preset", runs.config(0).preset},
                    {"device", device_of(runs)},
                    {"provenance", "measured here"},
                    {"steps", runs.config(0).config.train.steps},
                    {"repeats", result.repeats},
                    {"stopped", runs.was_stopped()},
                    {"crowded_runs", shared_processors(runs).runs},
                    {"rungs", rungs},
                    {"left_out", result.left_out},
                    {"published", published}};
  return out.text();
}

}  // namespace isobar
