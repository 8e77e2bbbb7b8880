#include "cli/question_runs.h"

#include <cstdio>
#include <utility>

#include "cli/measured_runs.h"
#include "cli/predicted_run.h"
#include "config/lesson.h"
#include "core/error.h"
#include "core/number_text.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRunsFolder = "runs";

bool is_to_be_run(const FoundRuns& found) {
  return found.missing > 0 && found.cannot.empty() && found.wanted.predicted.empty();
}

void make_prediction(const FoundRuns& found, const fs::path& home) {
  const NeededRun& wanted = found.wanted;
  const Prediction prediction = predict_on_device(read_lesson(home, wanted.lesson), run_settings(wanted),
                                                  wanted.predicted, found.command);
  write_predicted_run(prediction, reserve_run_folder(kRunsFolder, "predicted-" + wanted.lesson));
}

MeasuredPoint point_of(const FoundRuns& found, const fs::path& home) {
  const NeededRun& wanted = found.wanted;
  const Settings settings = run_settings(wanted);
  MeasuredPoint out{.name = wanted.name, .sets = settings.sets, .lesson = read_lesson(home, wanted.lesson)};
  out.preset = settings.preset;
  out.times = found.missing;
  if (wanted.ranks > 1) out.sets.push_back("run.ranks=" + std::to_string(wanted.ranks));
  if (!wanted.fails.empty()) out.fails = number_of<int>(wanted.fails).value_or(1);
  return out;
}

}  // namespace

std::optional<MachineRates> rates_if_kept() {
  try {
    return kept_machine_rates();
  } catch (const Error&) {  // a file that is damaged; predict says so
    return std::nullopt;
  }
}

std::vector<FoundRuns> missing_runs(const std::vector<Question>& questions, const fs::path& home) {
  const std::optional<MachineRates> rates = rates_if_kept();
  return missing_runs(questions, home, known_runs(kRunsFolder), rates ? &*rates : nullptr);
}

int make_runs(const std::vector<FoundRuns>& found, const fs::path& home, bool quiet) {
  std::vector<MeasuredPoint> points;
  for (const FoundRuns& one : found) {
    if (one.missing > 0 && one.cannot.empty() && !one.wanted.predicted.empty()) make_prediction(one, home);
    if (is_to_be_run(one)) points.push_back(point_of(one, home));
  }
  if (points.empty()) return 0;
  MeasureArguments arguments;
  arguments.lesson = *points.front().lesson;
  arguments.repeats = 1;
  arguments.whole = true;
  arguments.json = quiet;
  MeasuredRuns runs({.command = "quiz", .arguments = arguments}, std::move(points));
  return runs.run();
}

}  // namespace isobar
