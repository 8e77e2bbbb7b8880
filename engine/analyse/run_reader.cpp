#include "analyse/run_reader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr std::int64_t kSchema = 1;
constexpr double kSilence_s =
    180;  // a run of another machine that says nothing for so long is taken for dead
constexpr std::array<const char*, 6> kStages = {"load", "copy", "forward", "backward", "comm", "optimize"};

/// A number of the stream; "nan", "inf" and "-inf" are numbers there.
double number(const Json& line, const std::string& key, double otherwise = 0) {
  const auto found = line.find(key);
  if (found == line.end()) return otherwise;
  if (found->is_number()) return found->get<double>();
  if (!found->is_string()) return otherwise;
  const std::string text = found->get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return otherwise;
}

std::int64_t integer(const Json& line, const std::string& key, std::int64_t otherwise = 0) {
  const double value = number(line, key, static_cast<double>(otherwise));
  return std::fabs(value) < 9e15 ? static_cast<std::int64_t>(value) : otherwise;
}

std::string text(const Json& line, const std::string& key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? printable(found->get<std::string>(), 2000) : "";
}

/// The channel of the first key "rmse_X".
std::string headline_of(const Json& line) {
  for (const auto& [key, value] : line.items()) {
    if (key.rfind("rmse_", 0) == 0) return printable(key.substr(5), 40);
  }
  return "";
}

/// Whether process `pid` of this machine is alive and is `program`; a number can be given to another process
/// later, and a killed one whose parent has not looked yet is dead all the same.
bool is_alive(std::int64_t pid, const std::string& program) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return false;
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close + 2 >= line.size()) return false;
  const char state = line[close + 2];
  return line.substr(open + 1, close - open - 1) == program.substr(0, 15) && state != 'Z' && state != 'X';
}

std::string this_host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

const char* state_name(RunState state) {
  static constexpr std::array<const char*, 6> kNames = {"empty",   "running", "done",
                                                        "stopped", "failed",  "died"};
  return kNames[static_cast<std::size_t>(state)];
}

RunReader::RunReader(fs::path folder)
    : folder_(std::move(folder)), stream_(RunFolder{folder_}.stream_file(0)) {
  if (!fs::exists(RunFolder{folder_}.config_file()) && !fs::exists(RunFolder{folder_}.stream_file(0))) {
    throw Error("the folder holds no run", folder_.string(),
                "a run folder has run.toml and rank-0000.jsonl in it");
  }
}

bool RunReader::update() {
  const std::vector<std::string> lines = stream_.read_new();
  if (stream_.restarts() != restarts_) {
    restarts_ = stream_.restarts();
    view_ = RunView{};
    steady_steps_ = steady_samples_ = 0;
    steady_us_ = 0;
    steady_stages_us_.clear();
    ended_ = false;
  }
  for (const std::string& line : lines) take(line);
  find_state();
  return !lines.empty();
}

void RunReader::take(const std::string& text_line) {
  const Json line = Json::parse(text_line, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object()) {
    ++view_.unread_lines;
    return;
  }
  const std::string kind = text(line, "kind");
  RunSummary& summary = view_.summary;
  if (kind == "run") {
    if (const std::int64_t schema = integer(line, "schema"); schema != kSchema) {
      throw Error(fmt::format("the stream has schema {}, this program reads {}", schema, kSchema),
                  folder_.string(), "the run was made by another version");
    }
    view_.lesson = text(line, "lesson");
    view_.preset = text(line, "preset");
    view_.device = text(line, "device");
    view_.host = text(line, "host");
    view_.started = text(line, "started");
    view_.fault = text(line, "fault") == "none" ? "" : text(line, "fault");
    pid_ = integer(line, "pid");
    summary.wanted_steps = integer(line, "wanted_steps");
    summary.flops_per_sample = number(line, "flops_per_sample");
  } else if (kind == "note") {
    steps_per_epoch_ = integer(line, "steps_per_epoch", steps_per_epoch_);
    summary.warm_up_steps = warm_up_steps(steps_per_epoch_);
  } else if (kind == "step") {
    take_step(line);
  } else if (kind == "eval") {
    take_eval(line);
  } else if (kind == "summary") {
    summary.wall_s = number(line, "wall_us") * 1e-6;
    summary.peak_flops_per_s = number(line, "peak_flops_per_s");
    summary.samples_per_s = number(line, "samples_per_s");
  } else if (kind == "end") {
    ended_ = true;
    view_.reason = text(line, "reason");
    const std::string status = text(line, "status");
    view_.state = status == "done"      ? RunState::done
                  : status == "stopped" ? RunState::stopped
                                        : RunState::failed;
  }
}

fs::path find_run(const std::string& name, const fs::path& runs) {
  const std::vector<fs::path> all = list_runs(runs);
  if (name == "last" && !all.empty()) return all.back();
  if (fs::is_directory(name)) return name;
  std::vector<std::string> names;
  for (const fs::path& path : all) names.push_back(path.filename().string());
  if (std::find(names.begin(), names.end(), name) != names.end()) return runs / name;
  const std::string nearest = nearest_name(name, names);
  throw Error("there is no run \"" + printable(name) + "\"", runs.string(),
              all.empty()        ? "no run is here yet: ./isobar run 01_baseline"
              : !nearest.empty() ? "did you mean " + nearest + "?"
                                 : "./isobar runs lists them; \"last\" is the newest");
}

std::vector<fs::path> list_runs(const fs::path& runs) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(runs, code)) {
    const fs::path config = RunFolder{entry.path()}.config_file();
    std::error_code missing;
    const fs::file_time_type time = fs::last_write_time(config, missing);
    if (!missing) found.emplace_back(time, entry.path());
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> out;
  for (const auto& [time, path] : found) out.push_back(path);
  return out;
}

std::string to_json(const RunReader& reader) {
  const RunView& view = reader.view();
  const RunSummary& summary = view.summary;
  Json scores = Json::array();
  for (const RunScores& at : view.scores) {
    scores.push_back({{"step", at.step},
                      {"loss", at.loss},
                      {"rmse_" + at.headline, at.rmse},
                      {"persistence_rmse_" + at.headline, at.persistence_rmse},
                      {"climatology_rmse_" + at.headline, at.climatology_rmse},
                      {"acc_" + at.headline, at.acc}});
  }
  Json stages;
  for (const auto& [stage, time_us] : summary.stages_us) stages[stage + "_us"] = time_us;
  const Json out = {{"run", reader.folder().filename().string()},
                    {"state", state_name(view.state)},
                    {"reason", view.reason},
                    {"lesson", view.lesson},
                    {"preset", view.preset},
                    {"device", view.device},
                    {"host", view.host},
                    {"started", view.started},
                    {"fault", view.fault},
                    {"steps", summary.steps},
                    {"wanted_steps", summary.wanted_steps},
                    {"samples", summary.samples},
                    {"wall_s", summary.wall_s},
                    {"first_loss", summary.first_loss},
                    {"loss", summary.last_loss},
                    {"samples_per_s", summary.samples_per_s},
                    {"mfu", summary.mfu()},
                    {"step_us", summary.step_us},
                    {"stages", stages},
                    {"scores", scores}};
  return out.dump();
}

void RunReader::take_step(const Json& line) {
  RunSummary& summary = view_.summary;
  const std::int64_t step = integer(line, "step");
  summary.steps = step + 1;
  summary.samples += integer(line, "samples");
  summary.wall_s = number(line, "t_us") * 1e-6;
  view_.last_epoch = integer(line, "epoch");
  if (line.contains("loss")) summary.last_loss = number(line, "loss");
  if (step == 0) summary.first_loss = summary.last_loss;
  if (steps_per_epoch_ == 0 || summary.steps <= summary.warm_up_steps) return;
  ++steady_steps_;
  steady_samples_ += integer(line, "samples");
  steady_us_ += number(line, "step_us");
  for (const char* stage : kStages) {
    const std::string key = std::string(stage) + "_us";
    if (!line.contains(key)) continue;
    auto found = std::find_if(steady_stages_us_.begin(), steady_stages_us_.end(),
                              [&](const auto& entry) { return entry.first == stage; });
    if (found == steady_stages_us_.end()) found = steady_stages_us_.insert(found, {stage, 0.0});
    found->second += number(line, key);
  }
  const auto steps = static_cast<double>(steady_steps_);
  summary.step_us = steady_us_ / steps;
  summary.samples_per_s = steady_us_ > 0 ? static_cast<double>(steady_samples_) / steady_us_ * 1e6 : 0;
  summary.stages_us = steady_stages_us_;
  for (auto& [stage, time_us] : summary.stages_us) time_us /= steps;
}

void RunReader::take_eval(const Json& line) {
  RunScores scores{
      .step = integer(line, "step"), .loss = number(line, "loss"), .headline = headline_of(line)};
  scores.rmse = number(line, "rmse_" + scores.headline);
  scores.persistence_rmse = number(line, "persistence_rmse_" + scores.headline);
  scores.climatology_rmse = number(line, "climatology_rmse_" + scores.headline);
  scores.acc = number(line, "acc_" + scores.headline);
  RunSummary& summary = view_.summary;
  summary.has_scores = !scores.headline.empty();
  summary.valid_loss = scores.loss;
  summary.headline = scores.headline;
  summary.rmse = scores.rmse;
  summary.persistence_rmse = scores.persistence_rmse;
  summary.climatology_rmse = scores.climatology_rmse;
  view_.scores.push_back(scores);
}

void RunReader::find_state() {
  std::error_code code;
  const fs::file_time_type grown = fs::last_write_time(RunFolder{folder_}.stream_file(0), code);
  if (code) return;
  view_.age_s = std::chrono::duration<double>(fs::file_time_type::clock::now() - grown).count();
  if (ended_) return;
  const bool here = view_.host == this_host() && pid_ > 0;
  const bool gone = here ? !is_alive(pid_, view_.lesson) : view_.age_s > kSilence_s;
  view_.state = gone ? RunState::died : RunState::running;
}

}  // namespace isobar
