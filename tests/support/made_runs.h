#pragma once
// Folders of runs, made up: how long each stage takes, what the losses are, how the run ended.
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "core/files.h"
#include "core/machine.h"
#include "record/json_line.h"
#include "support/temp_folder.h"

namespace isobar {

/// A run of 30 steps, of which the first three are warm-up, in about 20 ms each.
struct MadeSteps {
  std::map<std::string, double> stage_ms = {{"load", 3}, {"copy", 1},     {"forward", 5}, {"backward", 9},
                                            {"comm", 0}, {"optimize", 2}, {"replay", 0}};
  double factor = 1;  ///< of all times: how a repeat differs from the others
  double rest_ms = 0.5;
  int steps = 30;
  std::int64_t samples = 4;
  std::string end = "done";
  std::int64_t pid = 0;
  std::string measure = "none";
  std::string precision = "none";
  double processor_wait = 0;
  double loss_factor = 1;
  bool scored = true;
  std::map<std::string, std::string> keys = {};  ///< "data.workers" -> "4"
  int schema = 1;
  std::string provenance = "";
  std::int64_t t_us_jump = 0;  ///< from the middle of the run on
  std::string lesson = "01_baseline";
  std::map<std::string, double> more = {};    ///< fields of each step beyond its stages
  std::map<std::string, double> totals = {};  ///< fields of the summary
  std::string notes = "";                     ///< lines behind the plan
  std::string reason = "";                    ///< that it ended for
  std::string fault = "";
  std::function<double(int step)> loss = {};  ///< of training, in place of one that falls
  double persistence = 0;                     ///< its RMSE; 0 = the scores have none
  int score_every = 10;
};

inline double loss_after(const MadeSteps& made, int step) {
  return made.loss_factor * (made.loss ? made.loss(step) : 0.2 + 0.8 / (1 + step));
}

inline void add_scores(const MadeSteps& made, int step, std::int64_t t_us, std::string& out) {
  if (!made.scored) return;
  JsonLine line("eval");
  line.add("step", step).add("t_us", t_us).add("samples", 96).add("loss", loss_after(made, step));
  line.add("rmse_u10m", loss_after(made, step));
  if (made.persistence > 0) line.add("persistence_rmse_u10m", made.persistence);
  out += line.text();
}

inline std::string stream_of(const MadeSteps& made) {
  JsonLine run("run");
  run.add("schema", made.schema)
      .add("lesson", made.lesson)
      .add("preset", "cpu_micro")
      .add("world", 1)
      .add("pid", made.pid)
      .add("host", host_name());
  run.add("device", "cpu").add("measure", made.measure).add("precision", made.precision);
  run.add("wanted_steps", made.steps).add("from_samples", 0).add("from_wall_us", 0);
  if (!made.fault.empty()) run.add("fault", made.fault);
  if (!made.provenance.empty()) run.add("provenance", made.provenance);
  std::string out = run.text() + JsonLine("note").add("text", "plan").add("steps_per_epoch", 16).text();
  out += made.notes;
  std::int64_t t_us = 1000;
  add_scores(made, 0, t_us, out);
  double all_us = 0;
  for (int step = 0; step < made.steps; ++step) {
    JsonLine line("step");
    double step_us = made.rest_ms * 1e3 * made.factor;
    for (const auto& [stage, ms] : made.stage_ms) step_us += ms * 1e3 * made.factor;
    t_us += static_cast<std::int64_t>(step_us) + (step == made.steps / 2 ? made.t_us_jump : 0);
    line.add("step", step).add("t_us", t_us).add("samples", made.samples).add("loss", loss_after(made, step));
    for (const auto& [stage, ms] : made.stage_ms) line.add(stage + "_us", ms * 1e3 * made.factor);
    for (const auto& [field, value] : made.more) line.add(field, value);
    out += line.add("step_us", step_us).text();
    if (step >= 7) all_us += step_us;
    if (step % made.score_every == made.score_every - 1) add_scores(made, step + 1, t_us, out);
  }
  if (made.end.empty()) return out;
  JsonLine summary("summary");
  summary.add("steps", made.steps).add("samples", made.steps * made.samples).add("wall_us", t_us);
  summary.add("processor_wait", made.processor_wait).add("step_us", all_us / (made.steps - 7));
  if (made.steps > 7)
    summary.add("samples_per_s", static_cast<double>(made.samples * (made.steps - 7)) / all_us * 1e6);
  for (const auto& [field, value] : made.totals) summary.add(field, value);
  return out + summary.text() + JsonLine("end").add("status", made.end).add("reason", made.reason).text();
}

/// Folders of such runs, one beside the other.
class MadeRuns {
 public:
  std::filesystem::path add(const std::string& name, const MadeSteps& made) {
    const std::filesystem::path folder = folder_ / name;
    std::filesystem::create_directory(folder);
    std::map<std::string, std::string> keys = {{"data.workers", "0"},
                                               {"amp.mode", "\"none\""},
                                               {"run.group", "\"\""},
                                               {"environment.host", "\"here\""}};
    for (const auto& [key, value] : made.keys) keys[key] = value;
    write_file_whole(folder / "run.toml", std::string_view(in_sections(keys, name)));
    write_file_whole(folder / "rank-0000.jsonl", std::string_view(stream_of(made)));
    return folder;
  }
  /// Three repeats that lie 1 % apart; the first of them.
  std::filesystem::path add_three(const std::string& name, MadeSteps made) {
    const double factor = made.factor;
    for (const int i : {3, 2, 1}) {
      made.factor = factor * (0.98 + 0.01 * i);
      add(name + std::to_string(i), made);
    }
    return folder_ / (name + "1");
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  static std::string in_sections(const std::map<std::string, std::string>& keys, const std::string& name) {
    std::string out, section;
    for (const auto& [key, value] : keys) {
      const std::size_t dot = key.find('.');
      if (key.substr(0, dot) != section) {
        out += "[" + (section = key.substr(0, dot)) + "]\n";
        if (section == "environment") out += "started = \"" + name + "\"\n";
      }
      out += key.substr(dot + 1) + " = " + value + "\n";
    }
    return out;
  }

  TempFolder folder_;
};

}  // namespace isobar
