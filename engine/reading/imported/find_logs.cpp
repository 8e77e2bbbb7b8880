#include "imported/find_logs.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "log/event_files.h"
#include "record/run_tree.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostLogs = 1000;
constexpr const char* kEpochLog = "out.log";
constexpr const char* kMetrics = "metrics.csv";

bool is_file(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(path, code);
}

FoundLog of_file(const fs::path& file) {
  const std::string name = file.filename().string();
  FoundLog out;
  out.folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (name.find("tfevents") != std::string::npos) {
    out.kind = LogKind::events;
    out.events = {file};
    return out;
  }
  out.kind = file.extension() == ".csv" ? LogKind::metrics : LogKind::epochs;
  out.file = file;
  return out;
}

void add_events(const fs::path& folder, FoundLog& out) {
  const EventFileList found = event_files(folder);
  out.events.insert(out.events.end(), found.paths.begin(), found.paths.end());
  out.left_out.add(found.left_out);
}

}  // namespace

std::vector<FoundLog> find_logs(const fs::path& place, LeftOut* left_out) {
  std::error_code code;
  if (!fs::exists(place, code))
    throw Error("there is no such folder", printable(place.string(), 4096), "name one that holds logs");
  if (!fs::is_directory(place, code)) return {of_file(place)};
  std::vector<FoundLog> out, events_alone;
  std::set<fs::path> taken;
  const TreeEnd end = visit_run_tree(
      place, [](const fs::path&) { return false; },
      [&](const FoundFolder& found) {
        if (found.is_run) return;
        if (is_file(found.path / kEpochLog)) {
          out.push_back({LogKind::epochs, found.path / kEpochLog, {}, found.path, {}});
          add_events(found.path, out.back());
          add_events(found.path / "logs", out.back());  // where the tutorial's writer puts them
          taken.insert({found.path, found.path / "logs"});
        } else if (is_file(found.path / kMetrics)) {
          out.push_back({LogKind::metrics, found.path / kMetrics, {}, found.path, {}});
          FoundLog beside;
          add_events(found.path, beside);
          out.back().left_out.add("event file", "metrics.csv lies beside it and is read",
                                  static_cast<std::int64_t>(beside.events.size()));
          taken.insert(found.path);
        } else if (found.has_events) {
          events_alone.push_back({LogKind::events, {}, {}, found.path, {}});
          add_events(found.path, events_alone.back());
        }
        if (out.size() + events_alone.size() > kMostLogs)
          throw Error("the folder holds more than 1,000 logs", printable(place.string(), 4096),
                      "import a part of it at a time");
      });
  for (FoundLog& log : events_alone) {
    if (taken.count(log.folder) == 0) out.push_back(std::move(log));
  }
  if (out.empty()) {
    const std::string missed = joined(end.left_out.sentences(), "; ");
    throw Error(
        "no log of a known kind was found" + (missed.empty() ? "" : "; " + missed),
        printable(place.string(), 4096),
        "it looks for out.log or event files of the Python tutorial, metrics.csv of Lightning, and output of "
        "nccl-tests");
  }
  if (left_out != nullptr) left_out->add(end.left_out);
  std::ranges::sort(out, {}, &FoundLog::folder);
  return out;
}

ForeignRun read_log(const FoundLog& log, const ImportWish& wish) {
  ForeignRun out = log.kind == LogKind::metrics ? read_lightning_run(log.file, wish)
                                                : read_tutorial_run(log.file, log.events, log.folder, wish);
  out.left_out.add(log.left_out);
  return out;
}

}  // namespace isobar
