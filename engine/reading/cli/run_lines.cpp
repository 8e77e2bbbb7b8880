#include "cli/run_lines.h"

#include <fmt/format.h>

#include <map>

#include "analyse/ranks.h"
#include "analyse/run_prediction.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/text.h"
#include "core/waiting.h"
#include "log/event_files.h"
#include "log/operators.h"

namespace isobar {

std::string scores_line(const RunScores& scores) {
  std::string out = fmt::format("  after {:>7} steps  loss {:.4f}", scores.step, scores.loss);
  if (!scores.headline.empty()) out += fmt::format("  {} RMSE {:.4f}", scores.headline, scores.rmse);
  if (scores.persistence_rmse > 0)  // else the run did not record it
    out += fmt::format("  persistence {:.4f}", scores.persistence_rmse);
  if (scores.has_climatology()) out += fmt::format("  ACC {:.3f}", scores.acc);
  if (scores.members > 1) out += fmt::format("  spread {:.4f}  CRPS {:.4f}", scores.spread, scores.crps);
  return out;
}

std::string live_line(const RunView& view) {
  const RunSummary& summary = view.summary;
  std::string out =
      fmt::format("step {}/{}  epoch {}", summary.steps, summary.wanted_steps, view.last_epoch + 1);
  if (summary.has_losses) out += fmt::format("  loss {:.4f}", summary.last_loss);
  if (summary.samples_per_s > 0) {
    const double left_s = static_cast<double>(summary.wanted_steps - summary.steps) * summary.step_us * 1e-6;
    out += fmt::format("  {:.1f} samples/s  {} left", summary.samples_per_s, human_seconds(left_s));
    if (!summary.stages_us.empty()) out += "  " + stage_shares(summary.stages_us, summary.step_us);
  }
  return out;
}

std::string marks_text(const RunView& view) {
  std::string out;
  for (const std::string& mark : marks_of(view)) out += "[" + mark + "] ";
  return out;
}

namespace {

constexpr double kSilent_s = 10;  // a step may take that long; more may be a file system that stalls

/// "activations 5.3 MB, weights 1.9 MB, ..."
std::string memory_text(const RunView& view) {
  std::vector<std::string> parts;
  for (const auto& [category, bytes] : view.memory) parts.push_back(category + " " + human_bytes(bytes));
  return joined(parts);
}

}  // namespace

std::string head_line(const RunReader& reader) {
  const RunView& view = reader.view();
  const std::string reason = view.reason.empty() ? "" : ": " + view.reason;
  const std::string age = fmt::format("last sign {} ago", human_seconds(view.age_s));
  const bool stalls = view.state == RunState::running && view.age_s >= kSilent_s;
  const std::string ahead = view.clock_ahead_s > 0
                                ? fmt::format("; the clock of its file system is {} ahead of this one",
                                              human_seconds(view.clock_ahead_s))
                                : "";
  const std::string silent = view.state == RunState::died ? ": its stream has no end; " + age
                             : stalls                     ? ": " + age
                                                          : "";
  const std::string marks = marks_text(view);
  const std::string state = view.provenance.empty() ? state_name(view.state) : provenance_text(view);
  return fmt::format("{}  {}{}{}{}", printable(reader.folder().filename().string()), state, reason,
                     silent + ahead, marks.empty() ? "" : "  " + marks.substr(0, marks.size() - 1));
}

namespace {

Json memory_json(const RunView& view) {
  Json out = ISOBAR_NAMED(view.summary.predicted_bytes, view.summary.peak_bytes);
  for (const auto& [category, bytes] : view.memory) out[category + "_bytes"] = bytes;
  return out;
}

void add_what_some_have(const RunView& view, Json& out) {
  if (!view.replay_of.empty()) add_members(out, ISOBAR_NAMED(view.replay_of, view.replay_speed));
  if (view.summary.predicted_bytes > 0) out["memory"] = memory_json(view);
  if (view.summary.scale > 0) add_members(out, ISOBAR_NAMED(view.summary.scale, view.summary.skipped));
}

Json json_of(const RunReader& reader, const std::optional<RanksView>& ranks) {
  const RunView& view = reader.view();
  const bool is_log = !view.source.empty();  // another program's, which may not have written it
  const RunSummary& summary = view.summary;
  Json scores = Json::array();
  for (const RunScores& at : view.scores) {
    const auto known = [&](double score) { return at.has_climatology() ? Json(score) : Json(); };
    Json one = {{"step", at.step}, {"loss", at.loss}};
    if (!at.headline.empty()) {  // else a log with losses only
      one["rmse_" + at.headline] = at.rmse;
      one["persistence_rmse_" + at.headline] = number_or_null(at.persistence_rmse);
      one["climatology_rmse_" + at.headline] = known(at.climatology_rmse);
      one["acc_" + at.headline] = known(at.acc);
      if (at.members > 1) {
        one["members"] = at.members;
        one["crps_" + at.headline] = at.crps;
        one["spread_" + at.headline] = at.spread;
      }
    }
    scores.push_back(one);
  }
  Json stages;
  for (const auto& [stage, time_us] : summary.stages_us) stages[stage + "_us"] = time_us;
  const std::string run = reader.folder().filename().string(), state = state_name(view.state);
  const std::string provenance = view.provenance.empty() ? "measured here" : provenance_text(view);
  const Json samples = summary.samples > 0 || !is_log ? Json(summary.samples) : Json();
  const Json wall_s = summary.wall_s > 0 || !is_log ? Json(summary.wall_s) : Json();
  const Json samples_per_s = number_or_null(summary.samples_per_s), mfu = number_or_null(summary.mfu()),
             step_us = number_or_null(summary.step_us);
  Json out = ISOBAR_NAMED(run, state, view.reason, provenance, view.lesson, view.preset, view.device,
                          view.host, view.started, view.fault, summary.precision, summary.emulated,
                          summary.measure, view.group, view.point, view.repeat, summary.world,
                          summary.replicas, summary.steps, summary.wanted_steps, samples, wall_s);
  if (summary.has_losses) {  // else it only measures, or nobody ran it
    out["first_loss"] = summary.first_loss;
    out["loss"] = summary.last_loss;
  }
  add_members(out, ISOBAR_NAMED(samples_per_s, mfu, step_us, stages, scores));
  if (summary.redone_flops_per_sample > 0) out["hfu"] = number_or_null(summary.hfu());
  if (summary.has_valid_loss) out["valid_loss"] = summary.valid_loss;
  out["left_out"] = left_out_json(view.left_out);
  out["remarks"] = view.remarks;
  add_what_some_have(view, out);
  if (!view.source.empty()) out["source"] = view.source;
  if (summary.watched.step >= 0) out["operators"] = watched_json(summary.watched);
  if (ranks) out["ranks"] = ranks_json(*ranks);
  return out;
}

/// What was measured beside what the kept rates of this machine predict; nothing where they predict nothing.
void add_prediction(const RunReader& reader, Report& out) {
  const RunView& view = reader.view();
  if (!view.is_measured_here() || view.summary.step_us <= 0) return;
  const std::optional<StepStages> predicted = predicted_for(reader.folder(), view.lesson);
  if (!predicted) return;
  std::vector<std::string> parts;
  for (const auto& [stage, time_us] : predicted->named()) {
    out.json["predicted"]["stages"][stage + "_us"] = time_us;
    if (const auto measured_us = view.summary.stage_us(stage); measured_us > 0 || time_us > 0)
      parts.push_back(fmt::format("{} {} ({})", stage, value_text(Quantity::time, measured_us),
                                  value_text(Quantity::time, time_us)));
  }
  out.json["predicted"]["step_us"] = predicted->step_us();
  out.labelled("by formula", fmt::format("{} ms a step, and {} were measured; measured (predicted) ms: {}",
                                         value_text(Quantity::time, predicted->step_us()),
                                         value_text(Quantity::time, view.summary.step_us), joined(parts)));
}

}  // namespace

Report run_report(const RunReader& reader, const std::filesystem::path& where) {
  const RunView& view = reader.view();
  std::optional<RanksView> ranks;
  if (view.summary.world > 1) ranks = read_ranks(reader.folder());
  Report out;
  out.json = json_of(reader, ranks);
  out.line(head_line(reader));
  if (view.state == RunState::empty) return out;
  const std::string host = view.host.empty() ? "" : " of " + view.host;
  const std::string device = view.device.empty() ? "" : ", on " + view.device + host;
  const char* const made = view.provenance == "predicted" ? "made" : "started";
  out.line(fmt::format("  {}{}{}{}", view.lesson, view.preset.empty() ? "" : ", preset " + view.preset,
                       device, view.started.empty() ? "" : fmt::format(", {} {}", made, view.started)));
  if (!view.provenance.empty() && !view.point.empty()) out.labelled("with", printable(view.point, 200));
  for (const RunScores& scores : view.scores) out.line(scores_line(scores));
  if (!view.memory.empty()) out.labelled("predicted", memory_text(view));
  for (const std::string& line : summary_lines(view.summary, view.provenance)) out.labelled(line);
  add_prediction(reader, out);
  for (const std::string& sentence : view.left_out.sentences()) out.line("  " + sentence);
  for (const std::string& remark : view.remarks) out.line("  " + remark);
  if (view.unread_lines > 0)
    out.line("  " + counted(view.unread_lines, "line") + " of the stream could not be read");
  if (ranks) out.lines(rank_lines(*ranks));
  out.line("  run          " + printable(as_typed(where.empty() ? reader.folder() : where).string(), 4096));
  return out;
}

Report run_report(const std::filesystem::path& run) {
  RunReader reader(run);
  reader.read_all();
  return run_report(reader);
}

namespace {

constexpr std::int64_t kLookEvery_us = 100'000;
constexpr std::int64_t kLineEvery_us = 2'000'000;  // where nothing can be overwritten

struct EventTag {
  std::int64_t values = 0;
  double first = 0, last = 0;
  std::int64_t last_step = 0;
};

}  // namespace

Report event_report(const std::filesystem::path& folder) {
  constexpr std::size_t kMostTags = 100, kMostTagBytes = 4096;
  std::map<std::string, EventTag> tags;
  EventFiles events;
  while (events.update(folder, [&](const TfScalar& scalar) {
    EventTag& tag = tags[scalar.tag];
    if (tag.values++ == 0) tag.first = scalar.value;
    tag.last = scalar.value;
    tag.last_step = scalar.step;
  })) {
  }
  Report out;
  out.line(
      fmt::format("{}  event files of another program: {}", printable(folder.string(), 400), events.size()));
  out.json = {{"folder", folder.string()}, {"event_files", events.size()}};
  std::vector<Row> rows;
  for (const auto& [name, tag] : tags) {
    rows.emplace_back()
        .cell("tag", printable(name, 40))
        .add("values", "values", std::to_string(tag.values), tag.values)
        .add("first", "first", fmt::format("{:.6g}", tag.first), tag.first)
        .add("last", "last", fmt::format("{:.6g}", tag.last), tag.last)
        .add("last_step", "last step", std::to_string(tag.last_step), tag.last_step)
        .json["tag"] = printable(name, kMostTagBytes);
  }
  out.rows("tags", rows, 1, kMostTags);
  if (tags.size() > kMostTags) out.line(fmt::format("  and {} more", tags.size() - kMostTags));
  const std::vector<std::string> problems = events.problems();
  for (const std::string& line : problems) out.line("  " + line);
  for (const std::string& line : events.left_out().sentences()) out.line("  " + line);
  out.json["problems"] = problems;
  out.json["left_out"] = left_out_json(events.left_out());
  return out;
}

bool is_over(const RunView& view) { return view.state != RunState::running && view.state != RunState::empty; }

void RunTeller::look() {
  bool changed = false;
  while (reader_.update()) changed = true;
  const RunView& view = reader_.view();
  for (; told_ < view.scores.size(); ++told_) console_.line(indent_ + scores_line(view.scores[told_]));
  const bool is_time = !shown_us_ || steady_us() - *shown_us_ >= every_us_;
  if (!changed || view.summary.steps == 0 || !is_time) return;
  console_.progress(indent_ + live_line(view));
  shown_us_ = steady_us();
}

bool follow_run(RunReader& reader, Console& console, const FollowUntil& until) {
  RunTeller teller(reader, console, console.is_terminal() ? kLookEvery_us : kLineEvery_us);
  while (true) {
    const bool more =
        until.more_comes && until.more_comes();  // before the look, which then sees the last of it
    teller.look();
    if (!more && is_over(reader.view())) return true;
    if (until.stop && until.stop()) return false;
    sleep_us(kLookEvery_us);
  }
}

}  // namespace isobar
