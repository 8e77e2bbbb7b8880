#pragma once
// Runs of lesson 00 as its program leaves them, worked out here; only their times are made up.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "00_sgd/view/descent.h"
#include "config/load.h"
#include "config/toml_text.h"
#include "core/files.h"
#include "record/json_line.h"
#include "record/run_folder.h"
#include "support/temp_folder.h"

namespace isobar {

using lesson_00::Descent, lesson_00::RankDescent, lesson_00::walk_descent;

/// What a step of so many samples takes: 1 us, and 20 ns for each.
inline double made_step_us(std::int64_t samples) { return 1 + 0.02 * static_cast<double>(samples); }

struct MadeDescent {
  std::vector<std::string> sets = {};  ///< "optim.lr=0.02"
  std::int64_t ranks = 1;
  std::string end = "done";
  std::function<double(std::int64_t samples)> step_us = made_step_us;
};

inline std::string descent_stream(const Descent& descent, std::size_t rank, const MadeDescent& made) {
  const RankDescent& of = descent.ranks.at(rank);
  std::string out = JsonLine("run")
                        .add("schema", 1)
                        .add("lesson", "00_sgd")
                        .add("rank", rank)
                        .add("world", descent.ranks.size())
                        .add("device", "cpu")
                        .add("wanted_steps", descent.config.train.steps)
                        .text();
  JsonLine start("note");
  out += start.add("text", "start").add("slope", of.start.slope).add("intercept", of.start.intercept).text();
  const std::int64_t samples = descent.batch() / descent.config.run.ranks;
  const double step_us = made.step_us(samples);
  for (std::size_t i = 0; i < of.steps.size(); ++i) {
    JsonLine line("step");
    line.add("step", i).add("t_us", 100 * i).add("samples", samples).add("loss", of.steps[i].loss);
    for (const auto& [name, value] : step_figures(of.steps[i].line, of.steps[i].own, of.steps[i].taken))
      line.add(name, value);
    out += line.add("step_us", step_us).text();
  }
  JsonLine summary("summary");
  summary.add("steps", of.steps.size())
      .add("samples", static_cast<std::int64_t>(of.steps.size()) * descent.batch())
      .add("wall_us", 1000)
      .add("step_us", step_us);
  if (made.end.empty()) return out;
  return out + summary.text() + JsonLine("end").add("status", made.end).add("reason", "").text();
}

inline void write_descent(const std::filesystem::path& folder, const Config& config,
                          const MadeDescent& made = {}) {
  const Descent descent = walk_descent(config, config.train.steps);
  std::filesystem::create_directories(folder);
  const RunFolder run{folder};
  write_file_whole(run.config_file(), std::string_view(to_toml(config) + "[environment]\nhost = \"here\"\n" +
                                                       "started = \"" + folder.filename().string() + "\"\n"));
  for (std::size_t rank = 0; rank < descent.ranks.size(); ++rank) {
    write_file_whole(run.stream_file(static_cast<int>(rank)),
                     std::string_view(descent_stream(descent, rank, made)));
  }
}

/// Folders of such runs, one beside the other.
class MadeDescents {
 public:
  /// 150 steps of lesson 00, if `made` says nothing else.
  std::filesystem::path add(const std::string& name, MadeDescent made = {}) const {
    made.sets.push_back("run.ranks=" + std::to_string(made.ranks));
    const Config config =
        load_config(project_home(), read_lesson(project_home(), "00_sgd"), {.sets = made.sets}, "cpu").config;
    write_descent(folder_ / name, config, made);
    return folder_ / name;
  }
  /// Three that repeat each other but for 1 % in their times; the first of them.
  std::filesystem::path add_three(const std::string& name, const MadeDescent& made) const {
    for (const int i : {3, 2, 1}) {
      MadeDescent one = made;
      one.step_us = [&made, i](std::int64_t samples) { return made.step_us(samples) * (0.98 + 0.01 * i); };
      add(name + std::to_string(i), one);
    }
    return folder_ / (name + "1");
  }

 private:
  TempFolder folder_;
};

}  // namespace isobar
