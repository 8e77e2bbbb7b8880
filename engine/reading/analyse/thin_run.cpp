#include "analyse/thin_run.h"

#include <fmt/format.h>

#include <array>
#include <sstream>
#include <vector>

#include "analyse/event_log.h"
#include "analyse/run_files.h"
#include "analyse/run_view.h"
#include "config/toml_text.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "foreign/toml_limits.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;
namespace {

constexpr std::size_t kFirstSteps = 20;

struct Line {
  std::string text;
  std::string kind;
  bool has_loss = false;
  bool is_kept = false;  ///< whatever else is thinned

  bool is_step() const { return kind == "step"; }
};

/// What the run says, and the lines in which it does.
struct ReadLines {
  RunViewBuilder view;
  std::vector<Line> lines = {};
  std::size_t steps = 0;
  std::size_t last_step = 0;  ///< its place in `lines`

  void take(const Event& event, std::string_view text) {
    view.take(event);
    Line& line = lines.emplace_back(
        Line{std::string(text) + "\n", std::string(event.kind()), event.find("loss") != nullptr});
    line.is_kept = !line.is_step() || steps < kFirstSteps || event.find("launches") != nullptr;
    if (!line.is_step()) return;
    ++steps;
    last_step = lines.size() - 1;
  }
};

/// The line with which the run begins: recorded on a device, by no process of this machine.
std::string recorded_head(const std::string& line, const std::string& device) {
  Json head = Json::parse(line);
  for (const char* const key : {"host", "pid", "parent_pid", "group", "point", "repeat"}) head.erase(key);
  head["provenance"] = "recorded";
  head["device"] = device;
  return head.text();
}

/// Marks what is kept when of the other steps every k-th stays; 1 = all. Bytes of what is kept.
std::uint64_t keep_every(const std::vector<Line>& lines, std::size_t k, std::vector<bool>& kept) {
  bool losses = false;
  for (const Line& line : lines) losses = losses || (line.is_step() && line.has_loss);
  kept.assign(lines.size(), false);
  std::uint64_t bytes = 0;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool counts = lines[i].is_step() && (lines[i].has_loss || !losses);
    kept[i] = lines[i].is_kept || k == 1 || (counts && seen % (k - 1) == 0);
    seen += counts ? 1 : 0;
    bytes += kept[i] ? lines[i].text.size() : 0;
  }
  return bytes;
}

/// run.toml without what is of the machine alone: folders keep their last name.
std::string thin_config(const fs::path& run) {
  static constexpr std::array<const char*, 4> kFolders = {"data.root", "train.init", "train.resume",
                                                          "train.save_init"};
  std::istringstream text(read_text_file(RunFolder{run}.config_file(), kMostTomlBytes));
  std::string out;
  std::string section;
  for (std::string line; std::getline(text, line);) {
    const std::string key = line.substr(0, line.find_first_of(" =#"));
    if (!line.empty() && line.front() == '[') section = line.substr(1, line.find(']') - 1);
    if (section == "environment" && (key == "host" || key == "command")) continue;
    const std::string whole = section + "." + key;
    for (const char* const folder : kFolders) {
      if (whole != folder) continue;
      const std::vector<TomlEntry> entry = parse_toml(line, "run.toml");
      const auto* const value = entry.empty() ? nullptr : std::get_if<std::string>(&entry.front().value);
      line = key + " = " + toml_string(value == nullptr ? "" : fs::path(*value).filename().string());
    }
    out += line + "\n";
  }
  return out;
}

void check(const RunView& view, const std::string& where) {
  if (!view.provenance.empty())
    throw Error("the run is " + view.provenance + " itself", where, "name a measured one");
  if (!view.replay_of.empty())
    throw Error("the run is a replay of " + view.replay_of, where, "name that one");
  if (view.state != RunState::done)
    throw Error(
        fmt::format("only a run that was done can be recorded; this one is {}", state_name(view.state)),
        where, "./isobar runs lists what is here");
  if (!view.fault.empty())
    throw Error("the run had a fault on purpose: " + view.fault, where, "record one without");
  if (view.started.size() < 10) throw Error("the run does not say when it began", where, "");
}

}  // namespace

ThinRun thin_run(const fs::path& run, std::uint64_t most_bytes) {
  check_run_folder(run);
  const fs::path stream = RunFolder{run}.stream_file(0);
  ReadLines read{RunViewBuilder(run.string())};
  EventLog(stream).read_all(read);
  if (!read.lines.empty()) read.view.judge(silence_s(stream), run);
  const RunView& view = read.view.view();
  check(view, run.string());
  ThinRun out;
  out.all_steps = static_cast<std::int64_t>(read.steps);
  const std::string named = value_in(config_of(run), "environment.device_is");
  out.device = named.empty() ? view.device : named.substr(0, named.find(','));
  out.day = view.started.substr(0, 10);
  std::vector<Line>& lines = read.lines;
  for (Line& line : lines) {
    if (line.kind == "run") line.text = recorded_head(line.text, out.device) + "\n";
  }
  if (read.steps > 0) lines[read.last_step].is_kept = true;
  std::vector<bool> kept;
  std::size_t k = 1;
  while (keep_every(lines, k, kept) > most_bytes) {
    if (k > lines.size())
      throw Error("what the run recorded beside its steps is too much", run.string(),
                  fmt::format("a recorded run has at most {}", human_bytes(most_bytes)));
    k += 1 + k / 8;
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!kept[i]) continue;
    out.steps += lines[i].is_step() ? 1 : 0;
    out.stream += lines[i].text;
  }
  out.config = thin_config(run);
  return out;
}

}  // namespace isobar
