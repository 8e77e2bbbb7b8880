#include "analyse/recorded_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <tuple>

#include "analyse/steady.h"
#include "config/toml_text.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "foreign/toml_limits.h"
#include "log/event.h"
#include "log/run_files.h"
#include "log/run_reader.h"
#include "record/run_folder.h"
#include "record/run_tree.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostFolders = 1000;

std::vector<fs::path> folders_in(const fs::path& place) {
  std::vector<fs::path> out;
  for (const fs::path& path : entries_in(place)) {
    std::error_code broken;
    if (path.filename().string().front() == '.') continue;  // one that is being written
    if (out.size() < kMostFolders && fs::is_directory(path, broken)) out.push_back(path);
  }
  std::ranges::sort(out);
  return out;
}

std::string day_of(const RunView& view) { return view.started.substr(0, 10); }

/// The one setting that `other` has and `own` has not, where they were made together and differ in no more;
/// "" else.
std::string setting_between(const RunView& own, const RunView& other) {
  const auto of = [](const RunView& view) {
    return std::tuple(view.provenance, view.device, view.preset, day_of(view));
  };
  const std::string before = own.point.empty() ? "" : own.point + " ";
  const bool more = other.point.size() > before.size() && other.point.rfind(before, 0) == 0;
  if (of(own) != of(other) || !more) return "";
  const std::string setting = other.point.substr(before.size());
  return setting.find(' ') == std::string::npos ? setting : "";
}

/// The larger rate over the smaller one, where one setting alone differs; 1 else.
double tells(const RunView& own, const RunView& other) {
  const double one = own.summary.samples_per_s, two = other.summary.samples_per_s;
  if (setting_between(own, other).empty() || !(one > 0) || !(two > 0)) return 1;
  return std::max(one, two) / std::min(one, two);
}

const RecordedRun* most_telling(const RecordedRun& own, const std::vector<RecordedRun>& runs) {
  const RecordedRun* out = nullptr;
  double most = 1 + kSmallestThatMatters;
  for (const RecordedRun& other : runs) {
    if (tells(own.view, other.view) <= most) continue;
    out = &other;
    most = tells(own.view, other.view);
  }
  return out;
}

/// Among the runs that were made with the first and have their preset's own settings, the one that changes
/// most goes first.
void put_telling_first(std::vector<RecordedRun>& runs) {
  auto best = runs.begin();
  double most = 0;
  for (auto run = runs.begin(); run != runs.end(); ++run) {
    const RunView &view = run->view, &first = runs.front().view;
    const bool together =
        view.provenance == first.provenance && view.device == first.device && day_of(view) == day_of(first);
    const RecordedRun* const other = together && view.point.empty() ? most_telling(*run, runs) : nullptr;
    if (other == nullptr || tells(view, other->view) <= most) continue;
    best = run;
    most = tells(view, other->view);
  }
  if (best != runs.end()) std::rotate(runs.begin(), best, best + 1);
}

}  // namespace

const RecordedRun* telling_other(const std::vector<RecordedRun>& runs) {
  return runs.empty() ? nullptr : most_telling(runs.front(), runs);
}

std::string pair_sentence(const RecordedRun& own, const RecordedRun& other) {
  const RunView &one = own.view, &two = other.view;
  std::string out = fmt::format("with {} alone {:.1f} samples/s in place of {:.1f}",
                                printable(setting_between(one, two), 60), two.summary.samples_per_s,
                                one.summary.samples_per_s);
  // Two runs, measured once each, have a factor only beyond the spread of any repeats.
  const std::optional<Compared> found =
      compare(Spread({two.summary.samples_per_s}), Spread({one.summary.samples_per_s}), far_apart(one, two));
  const bool is_predicted = one.provenance == "predicted";
  if (is_predicted || (found && found->is_told()))
    out += fmt::format(", {:.2f} times as fast{}", two.summary.samples_per_s / one.summary.samples_per_s,
                       is_predicted ? "" : " from one run each");
  return out + " (" + provenance_text(two) + ")";
}

std::vector<RecordedRun> recorded_runs(const fs::path& home, const std::string& lesson) {
  std::vector<RecordedRun> out;
  const auto add = [&](const fs::path& folder) {
    if (!is_run_folder(folder)) return false;
    try {
      RecordedRun run{folder, glance(folder)};
      if (!run.view.provenance.empty()) out.push_back(std::move(run));
    } catch (const Error&) {
      // Opening it by name reports the error.
    }
    return true;
  };
  for (const fs::path& folder : folders_in(home / "lessons" / lesson / "recorded")) {
    if (add(folder)) continue;
    for (const fs::path& inner : folders_in(folder)) add(inner);
  }
  std::ranges::stable_sort(out, [](const RecordedRun& one, const RecordedRun& other) {
    const auto key = [](const RunView& view) {
      return std::tuple(view.provenance != "predicted", day_of(view), view.point.empty());
    };
    return key(one.view) > key(other.view);
  });
  put_telling_first(out);
  return out;
}

namespace {

constexpr std::size_t kFirstSteps = 20;

struct Line {
  std::string text;
  std::string kind;
  bool has_loss = false;
  bool is_kept = false;  ///< whatever else is thinned

  bool is_step() const { return kind == "step"; }
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
  if (view.started.size() < 10) throw Error("the run has no time of its start", where, "");
}

}  // namespace

ThinRun thin_run(const fs::path& run, std::uint64_t most_bytes) {
  check_run_folder(run);
  const fs::path stream = RunFolder{run}.stream_file(0);
  RunLog log(run.string());
  std::vector<Line> lines;
  std::size_t steps = 0, last_step = 0;  // how many, and the place of the last
  EventLog(stream).read_all([&](const Event& event, std::string_view text) {
    log.take(event);
    Line& line = lines.emplace_back(
        Line{std::string(text) + "\n", std::string(event.kind()), event.find("loss") != nullptr});
    line.is_kept = !line.is_step() || steps < kFirstSteps || event.find("launches") != nullptr;
    if (!line.is_step()) return;
    ++steps;
    last_step = lines.size() - 1;
  });
  if (!lines.empty()) log.judge(silence_s(stream), run);
  const RunView& view = log.view();
  check(view, run.string());
  ThinRun out;
  out.all_steps = static_cast<std::int64_t>(steps);
  const std::string named = value_in(config_of(run), "environment.device_is");
  out.device = named.empty() ? view.device : named.substr(0, named.find(','));
  out.day = view.started.substr(0, 10);
  for (Line& line : lines) {
    if (line.kind == "run") line.text = recorded_head(line.text, out.device) + "\n";
  }
  if (steps > 0) lines[last_step].is_kept = true;
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
