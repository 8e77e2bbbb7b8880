#pragma once
// Lessons on several ranks, as a learner starts them, and what the ranks wrote.
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "launch/rank_status.h"
#include "lessons/lesson_run.h"

namespace isobar {

/// ./isobar run LESSON --ranks N on the small data set, in fp32; no rank is given up before it is lost.
inline ProcessResult run_ranks(int ranks, const std::filesystem::path& run_dir,
                               const std::vector<std::string>& sets, const ProcessOptions& options = {},
                               const std::string& lesson = "06_ddp",
                               const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"run", lesson, "--ranks", std::to_string(ranks)};
  if (!run_dir.empty()) {
    words.insert(words.end(), {"--preset", "cpu_micro", "--run-dir", run_dir.string()});
    for (const char* const set : {"amp.mode=none", "comm.timeout_s=300", "train.report_every=1",
                                  "run.flush_ms=1", "run.threads=1", "comm.probe=false"})
      words.insert(words.end(), {"--set", set});
    for (const std::string& set : coarse()) words.insert(words.end(), {"--set", set});
  }
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  words.insert(words.end(), more.begin(), more.end());
  return run_launcher(lesson, words, options);
}

/// The same for a run that goes on.
inline ProcessResult resume_ranks(int ranks, const std::filesystem::path& run_dir,
                                  const std::vector<std::string>& sets = {},
                                  const std::string& lesson = "06_ddp") {
  return run_ranks(ranks, "", sets, {}, lesson, {"--resume", run_dir.string()});
}

inline std::vector<Json> stream_of(const std::filesystem::path& run_dir, int rank) {
  const std::string number = std::to_string(10000 + rank).substr(1);
  const std::filesystem::path file = run_dir / ("rank-" + number + ".jsonl");
  std::vector<Json> out;
  if (!std::filesystem::exists(file)) return out;
  std::istringstream text(read_text_file(file, 100'000'000));
  for (std::string line; std::getline(text, line);) out.push_back(Json::parse(line));
  return out;
}

/// The loss of the joint batch of each step: the mean over the ranks that trained it.
inline std::map<int, double> joint_losses(const std::filesystem::path& run_dir) {
  std::map<int, std::map<int, double>> by_step;
  std::map<int, std::int64_t> attempts;
  for (int rank = 0; rank < 16; ++rank) {
    std::int64_t attempt = 0;
    for (const Json& line : stream_of(run_dir, rank)) {
      if (line["kind"] == "run") attempt = line["attempt"].as_integer();
      if (line["kind"] != "step") continue;
      const int step = static_cast<int>(line["step"].as_integer());
      if (attempt > attempts[step]) by_step[step].clear();
      attempts[step] = std::max(attempts[step], attempt);
      if (attempt == attempts[step]) by_step[step][rank] = line["loss"].as_number();
    }
  }
  std::map<int, double> out;
  for (const auto& [step, losses] : by_step) {
    double sum = 0;
    for (const auto& [rank, loss] : losses) sum += loss;
    out[step] = sum / static_cast<double>(losses.size());
  }
  return out;
}

inline std::size_t count_steps(const std::filesystem::path& run_dir, int rank) {
  return of_kind(stream_of(run_dir, rank), "step").size();
}

/// Of the most ranks that these tests start.
inline bool no_process_left(const std::filesystem::path& run_dir) {
  for (int rank = 0; rank < 4; ++rank) {
    const auto status = read_rank_status(run_dir, rank);
    if (status && status->process == RankProcess::runs) return false;
  }
  return true;
}

}  // namespace isobar
