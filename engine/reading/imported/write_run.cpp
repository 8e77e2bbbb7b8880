#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "config/toml_text.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "imported/foreign_run.h"
#include "record/json_line.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostStreamBytes = 1ULL << 30;
constexpr std::string_view kSources = "imported_from = [";

std::int64_t micro(double seconds) { return std::llround(std::clamp(seconds, 0.0, 1e11) * 1e6); }

std::int64_t last_step(const ForeignRun& run) {
  const std::int64_t trained = run.steps.empty() ? 0 : run.steps.back().step + 1;
  return run.scores.empty() ? trained : std::max(trained, run.scores.back().step);
}

void add_others(const std::vector<std::pair<std::string, double>>& others, JsonLine& line) {
  for (const auto& [key, value] : others) line.add(key, value);
}

std::string step_line(const ForeignRun& run, const ForeignStep& step) {
  JsonLine line("step");
  line.add("step", step.step).add("stands_for", step.stands_for).add("epoch", step.epoch);
  if (step.at_s) line.add("t_us", micro(*step.at_s));
  if (run.batch > 0) line.add("samples", run.batch);
  if (step.loss) line.add("loss", *step.loss);
  if (step.lr) line.add("lr", *step.lr);
  if (step.peak_bytes) line.add("peak_bytes", std::llround(*step.peak_bytes));
  add_others(step.others, line);
  if (step.step_s) line.add("step_us", *step.step_s * 1e6);
  return line.text();
}

std::string score_line(const ForeignScore& score) {
  JsonLine line("eval");
  line.add("step", score.step);
  if (score.at_s) line.add("t_us", micro(*score.at_s));
  if (score.loss) line.add("loss", *score.loss);
  add_others(score.others, line);
  if (score.took_s) line.add("eval_us", micro(*score.took_s));
  return line.text();
}

/// Scores stand behind the step after which they were made.
std::string events_text(const ForeignRun& run) {
  std::string out;
  auto score = run.scores.begin();
  for (const ForeignStep& step : run.steps) {
    for (; score != run.scores.end() && score->step <= step.step; ++score) out += score_line(*score);
    out += step_line(run, step);
  }
  for (; score != run.scores.end(); ++score) out += score_line(*score);
  return out;
}

/// The first line, an epoch of the tutorial's log, is warm-up unless it is the only one.
std::int64_t warm_up_of(const ForeignRun& run) {
  return run.steps.size() > 1 ? run.steps.front().step + 1 : 0;
}

/// Whether a run.toml is that of an import, wherever the log lay then.
bool is_config(std::string_view written, const std::string& wanted) {
  if (!written.starts_with(wanted)) return false;
  written.remove_prefix(wanted.size());
  return written.starts_with(kSources) && written.find('\n') == written.size() - 1;
}

/// Mean time of the steps behind the warm-up; 0 = not known.
double steady_step_us(const ForeignRun& run) {
  double sum_s = 0, steps = 0;
  for (const ForeignStep& step : run.steps) {
    if (!step.step_s || step.step < warm_up_of(run)) continue;
    const auto weight = static_cast<double>(step.stands_for);
    sum_s += *step.step_s * weight;
    steps += weight;
  }
  return steps > 0 ? sum_s / steps * 1e6 : 0;
}

std::string summary_line(const ForeignRun& run) {
  JsonLine line("summary");
  const std::int64_t trained = run.steps.empty() ? 0 : run.steps.back().step + 1;
  double end_s = 0;
  if (!run.steps.empty()) end_s = run.steps.back().at_s.value_or(0);
  if (!run.scores.empty()) end_s = std::max(end_s, run.scores.back().at_s.value_or(0));
  line.add("steps", last_step(run)).add("world", 1).add("replicas", 1).add("wall_us", micro(end_s));
  if (run.batch > 0) line.add("samples", static_cast<double>(run.batch) * static_cast<double>(trained));
  if (const double step_us = steady_step_us(run); step_us > 0) {
    line.add("step_us", step_us);
    if (run.batch > 0) line.add("samples_per_s", static_cast<double>(run.batch) / step_us * 1e6);
  }
  if (!run.steps.empty() && run.steps.back().loss) {
    line.add("first_loss", run.first_loss.value_or(run.steps.front().loss.value_or(*run.steps.back().loss)));
    line.add("loss", *run.steps.back().loss);
  }
  if (!run.scores.empty()) {
    const ForeignScore& last = run.scores.back();
    if (last.loss) line.add("valid_loss", *last.loss);
    add_others(last.others, line);
  }
  return line.text();
}

std::string head_line(const ForeignRun& run) {
  JsonLine line("run");
  line.add("schema", 1).add("lesson", run.source).add("preset", run.preset);
  line.add("provenance", "recorded").add("source", run.source);
  line.add("rank", 0).add("world", 1).add("replicas", 1).add("device", run.device);
  line.add("precision", run.precision).add("started", run.started).add("wanted_steps", last_step(run));
  return line.text();
}

std::string plan_line(const ForeignRun& run) {
  JsonLine line("note");
  line.add("text", "plan");
  if (run.steps_per_epoch > 0)
    line.add("steps_per_epoch", run.steps_per_epoch).add("warm_up_steps", warm_up_of(run));
  return line.text();
}

/// The remarks of the import, which readers of the run print too.
std::string told_lines(const ForeignRun& run) {
  std::string out;
  for (const LeftOut::Entry& one : run.left_out.entries()) {
    JsonLine line("note");
    line.add("text", "left_out").add("count", one.count).add("what", one.what).add("why", one.why);
    out += line.text();
  }
  for (const std::string& note : run.notes)
    out += JsonLine("note").add("text", "remark").add("remark", note).text();
  return out;
}

}  // namespace

RunText run_text(const ForeignRun& run) {
  RunText out;
  out.stream = head_line(run) + plan_line(run) + told_lines(run) + events_text(run) + summary_line(run);
  JsonLine end("end");
  end.add("status", run.failure.empty() ? "done" : "failed").add("reason", run.failure);
  out.stream += end.text();
  const auto text = [](const std::string& value) { return toml_string(printable(value, 4096)); };
  out.config = "# Imported: this run was trained by another program, and never by a lesson here.\n";
  if (run.batch > 0 || last_step(run) > 0) out.config += "[train]\n";
  if (run.batch > 0) out.config += fmt::format("global_batch = {}\n", run.batch);
  if (last_step(run) > 0) out.config += fmt::format("steps = {}\n", last_step(run));
  if (run.precision != "none") out.config += "\n[amp]\nmode = " + text(run.precision) + "\n";
  if (run.gpus > 0) out.config += fmt::format("\n[run]\nranks = {}\n", run.gpus);
  out.config += "\n[environment]  # where and with what\nsource = " + text(run.source) + "\n";
  if (!run.started.empty()) out.config += "started = " + text(run.started) + "\n";
  if (!run.device.empty()) out.config += "device = " + text(run.device) + "\n";
  std::vector<std::string> files;
  for (const fs::path& file : run.files)
    files.push_back(text(fs::absolute(file).lexically_normal().string()));
  out.sources = std::string(kSources) + joined(files) + "]\n";
  return out;
}

std::string folder_name(const ForeignRun& run, const RunText& text) {
  constexpr std::size_t kMost = 80;
  std::string name;
  for (const char c : run.name.substr(0, kMost)) name += is_name_letter(c) ? c : '_';
  const std::string all = text.config + text.stream;
  return fmt::format("imported-{}-{:08x}", name.empty() ? "run" : name,
                     crc32c(std::as_bytes(std::span(all))));
}

Imported write_run(const fs::path& path, const RunText& text) {
  const RunFolder folder{path};
  std::error_code code;
  if (fs::is_symlink(path, code))
    throw Error("the run folder is a link", printable(path.string(), 4096), "remove it, or --into FOLDER");
  const auto has_this_stream = [&] {
    return read_text_file(folder.stream_file(0), kMostStreamBytes) == text.stream;
  };
  const bool has_stream = fs::exists(folder.stream_file(0), code),
             has_config = fs::exists(folder.config_file(), code);
  if (has_stream && has_config)
    return has_this_stream() && is_config(read_text_file(folder.config_file(), kMostStreamBytes), text.config)
               ? Imported::known
               : Imported::changed;
  if (has_config || (has_stream && !has_this_stream())) return Imported::changed;
  fs::create_directories(path, code);
  if (code) throw system_error("cannot make the run folder", path.string(), code.value());
  if (!has_stream) write_file_whole(folder.stream_file(0), std::string_view(text.stream));
  const std::string config = text.config + text.sources;
  write_file_whole(folder.config_file(), std::string_view(config));  // last: with it the run is there
  return Imported::new_run;
}

}  // namespace isobar
