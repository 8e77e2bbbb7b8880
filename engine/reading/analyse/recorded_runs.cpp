#include "analyse/recorded_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "analyse/recorded_spread.h"
#include "analyse/run_files.h"
#include "analyse/run_reader.h"
#include "analyse/spread.h"
#include "core/error.h"
#include "core/text.h"
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
  std::sort(out.begin(), out.end());
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

/// Of the runs that were made with the first and have their preset's own settings, the most telling goes
/// first.
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
      // Whoever opens it by name is told.
    }
    return true;
  };
  for (const fs::path& folder : folders_in(home / "lessons" / lesson / "recorded")) {
    if (add(folder)) continue;
    for (const fs::path& inner : folders_in(folder)) add(inner);
  }
  std::stable_sort(out.begin(), out.end(), [](const RecordedRun& one, const RecordedRun& other) {
    const auto key = [](const RunView& view) {
      return std::tuple(view.provenance != "predicted", day_of(view), view.point.empty());
    };
    return key(one.view) > key(other.view);
  });
  put_telling_first(out);
  return out;
}

}  // namespace isobar
