#include "imported/tutorial_run.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include "core/error.h"
#include "core/number_text.h"
#include "core/text.h"
#include "record/tfevents_reader.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostValuesATag = 1'000'000, kMostTags = 512;
constexpr std::int64_t kMostStep = 1'000'000'000'000;
constexpr std::uintmax_t kBytesACall = 16U << 20;
constexpr double kGib = 1024.0 * 1024 * 1024;

using Scalars = std::vector<TutorialScalar>;

struct Events {
  std::map<std::string, Scalars, std::less<>> tags;
  std::vector<std::string> notes;

  const Scalars* find(std::string_view tag) const {
    const auto found = tags.find(tag);
    return found == tags.end() ? nullptr : &found->second;
  }
  std::optional<double> at(std::string_view tag, std::int64_t step) const {
    const Scalars* const scalars = find(tag);
    if (scalars == nullptr) return std::nullopt;
    const auto found =
        std::lower_bound(scalars->begin(), scalars->end(), step,
                         [](const TutorialScalar& one, std::int64_t at) { return one.step < at; });
    if (found == scalars->end() || found->step != step) return std::nullopt;
    return found->value;
  }
};

/// A step that goes back begins its tag again from there: the run was started anew.
void add(const TfScalar& scalar, Events& out) {
  if (scalar.step < 0 || scalar.step > kMostStep) return;
  if (out.tags.size() >= kMostTags && out.tags.count(scalar.tag) == 0) return;
  Scalars& tag = out.tags[scalar.tag];
  while (!tag.empty() && tag.back().step >= scalar.step) tag.pop_back();
  if (tag.size() < kMostValuesATag)
    tag.push_back({scalar.step, std::isfinite(scalar.wall_time_s) ? scalar.wall_time_s : 0, scalar.value});
}

Events read_events(const std::vector<fs::path>& files) {
  Events out;
  for (const fs::path& path : files) {
    TfEventsReader reader(path);
    // A call may take 16 MiB that hold no value, such as the drawing of a model, and there is more behind
    // them.
    std::error_code code;
    const std::uintmax_t bytes = fs::file_size(path, code);
    std::uintmax_t empty_calls = code ? 1 : bytes / kBytesACall + 1;
    while (empty_calls > 0) {
      const TfEvents found = reader.read_new();
      if (found.scalars.empty() && found.images.empty()) --empty_calls;
      for (const TfScalar& scalar : found.scalars) add(scalar, out);
    }
    const std::string name = printable(path.filename().string());
    if (reader.is_damaged())
      out.notes.push_back(name + " is damaged; what comes after that place is left out");
    if (reader.skipped_records() > 0)
      out.notes.push_back(name + ": " + counted(reader.skipped_records(), "damaged record") + " left out");
  }
  return out;
}

double begin_of(const Events& events) {
  double out = 0;
  for (const auto& [tag, scalars] : events.tags) {
    if (!scalars.empty() && (out == 0 || scalars.front().wall_s < out)) out = scalars.front().wall_s;
  }
  return out;
}

std::string utc_text(double wall_s) {
  constexpr double kMost = 253'402'300'799;  // the year 9999
  if (!(wall_s > 0) || wall_s > kMost) return "";
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(wall_s)));
}

/// "u10m" of "RMSE(u10m)/valid", "" of another tag.
std::string channel_of(std::string_view tag) {
  constexpr std::string_view kBefore = "RMSE(", kBehind = ")/valid";
  if (!tag.starts_with(kBefore) || !tag.ends_with(kBehind) || tag.size() <= kBefore.size() + kBehind.size())
    return "";
  return printable(tag.substr(kBefore.size(), tag.size() - kBefore.size() - kBehind.size()), 40);
}

void take_events(const Events& events, ForeignRun& out) {
  const double begin_s = begin_of(events);
  out.started = utc_text(begin_s);
  std::int64_t before = 0, epoch = 0;
  if (const Scalars* const losses = events.find("Loss/train")) {
    for (const TutorialScalar& at : *losses) {
      if (at.step == 0) {
        out.first_loss = at.value;
        continue;
      }
      ForeignStep step{
          .step = at.step - 1, .stands_for = at.step - before, .epoch = epoch++, .loss = at.value};
      step.lr = events.at("Learning Rate", at.step);
      step.at_s = at.wall_s - begin_s;
      const auto steps_per_s = events.at("Avg iters per sec", at.step);
      const auto samples_per_s = events.at("Avg samples per sec", at.step);
      if (steps_per_s && *steps_per_s > 0) step.step_s = 1 / *steps_per_s;
      if (out.batch == 0 && steps_per_s && *steps_per_s > 0 && samples_per_s &&
          *samples_per_s < 1e9 * *steps_per_s)
        out.batch = std::llround(std::max(0.0, *samples_per_s / *steps_per_s));
      out.steps.push_back(step);
      before = at.step;
    }
  }
  if (!out.steps.empty()) out.steps_per_epoch = out.steps.front().stands_for;
  const Scalars* const scores = events.find("Loss/valid");
  for (std::size_t i = 0; scores != nullptr && i < scores->size(); ++i) {
    const TutorialScalar& at = (*scores)[i];
    ForeignScore score{.step = at.step, .loss = at.value, .at_s = at.wall_s - begin_s};
    for (const auto& [tag, values] : events.tags) {
      const std::string channel = channel_of(tag);
      const std::optional<double> rmse = channel.empty() ? std::nullopt : events.at(tag, at.step);
      if (rmse) score.others.emplace_back("rmse_" + channel, *rmse);
    }
    out.scores.push_back(std::move(score));
  }
}

/// Steps of an epoch, from its samples and the batch.
std::int64_t steps_of(const LoggedEpoch& epoch, std::int64_t batch, const std::string& where) {
  const double steps = epoch.samples() / static_cast<double>(batch);
  const double whole = std::round(steps);
  if (!(whole >= 1) || whole > 1e12 || std::fabs(steps - whole) > 0.02 + 1e-5 * whole)
    throw Error(fmt::format("a batch of {} does not go into the {:.0f} samples of epoch {}", batch,
                            epoch.samples(), epoch.number),
                where, "--batch is the number of samples a step, of all GPUs together");
  return static_cast<std::int64_t>(whole);
}

std::int64_t batch_of(const EpochLog& log, const ImportWish& wish, const std::string& where) {
  if (wish.batch > 0) return wish.batch;
  const auto said = number_of<std::int64_t>(log.setting("global_batch_size"));
  if (said && *said > 0 && *said < 1'000'000'000) return *said;
  throw Error("the log does not say how many samples a step has", where,
              "--batch 16, as the run's configuration had it (global_batch_size)");
}

void take_log(const EpochLog& log, const ImportWish& wish, const std::string& where, ForeignRun& out) {
  out.batch = batch_of(log, wish, where);
  std::int64_t done = 0;
  for (const LoggedEpoch& epoch : log.epochs) {
    const std::int64_t steps = steps_of(epoch, out.batch, where);
    done += steps;
    ForeignStep step{
        .step = done - 1, .stands_for = steps, .epoch = epoch.number - 1, .loss = epoch.train_loss};
    step.step_s = epoch.seconds / static_cast<double>(steps);
    step.at_s = epoch.trained_at_s;
    out.steps.push_back(step);
    if (epoch.valid_loss)
      out.scores.push_back({.step = done, .loss = epoch.valid_loss, .at_s = epoch.scored_at_s});
  }
  out.steps_per_epoch = out.steps.front().stands_for;
}

/// What only the log says, onto the steps of the event files.
void add_log(const EpochLog& log, ForeignRun& out) {
  const bool fits = log.epochs.size() == out.steps.size();
  if (!fits && !log.epochs.empty() && !out.steps.empty())
    out.notes.push_back(
        fmt::format("the log has {} and the event files {}: times are those of the event files",
                    counted(static_cast<std::int64_t>(log.epochs.size()), "epoch"), out.steps.size()));
  auto score = out.scores.begin();  // both go by their steps
  for (std::size_t i = 0; fits && i < out.steps.size(); ++i) {
    const LoggedEpoch& epoch = log.epochs[i];
    ForeignStep& step = out.steps[i];
    step.step_s = epoch.seconds / static_cast<double>(step.stands_for);
    if (epoch.memory_gib && *epoch.memory_gib > 0 && *epoch.memory_gib < 1e6)
      step.peak_bytes = *epoch.memory_gib * kGib;  // the log calls it GB
    while (score != out.scores.end() && score->step <= step.step) ++score;
    if (score != out.scores.end() && score->step == step.step + 1) score->took_s = epoch.valid_s;
  }
}

/// By the folders, as the tutorial makes them; else by a file of another name than its own.
void name_run(const fs::path& folder, const fs::path& log_file, ForeignRun& out) {
  const fs::path place = fs::absolute(folder).lexically_normal();
  const fs::path run = place.filename().empty() ? place.parent_path() : place;
  const fs::path own = run.filename() == "logs" ? run.parent_path() : run;
  const std::string shape = own.parent_path().filename().string();
  const std::string config = own.parent_path().parent_path().filename().string();
  for (const std::string_view unit : {"GPU", "MP"}) {
    if (!shape.ends_with(unit) || config.empty()) continue;
    const auto count = number_of<std::int64_t>(std::string_view(shape).substr(0, shape.size() - unit.size()));
    if (!count || *count < 1 || *count > 1'000'000) continue;
    out.name = config + "-" + shape + "-" + own.filename().string();
    if (out.preset.empty()) out.preset = printable(config, 60);
    if (unit == "GPU") out.gpus = *count;
    return;
  }
  const bool is_named = !log_file.empty() && log_file.filename() != "out.log";
  out.name = (is_named ? log_file.stem() : own.filename()).string();
}

}  // namespace

ForeignRun read_tutorial_run(const fs::path& log_file, const std::vector<fs::path>& event_files,
                             const fs::path& folder, const ImportWish& wish) {
  const fs::path& events_place = event_files.size() == 1 ? event_files.front() : folder;
  const std::string where = printable((log_file.empty() ? events_place : log_file).string(), 4096);
  ForeignRun out{.source = "tutorial", .name = ""};
  EpochLog log;
  if (!log_file.empty()) log = read_epoch_log(log_file);
  const Events events = read_events(event_files);
  out.notes = events.notes;
  out.preset = log.setting("config");
  name_run(folder, log_file, out);
  take_events(events, out);
  if (wish.batch > 0) out.batch = wish.batch;
  if (out.steps.empty() && !log.epochs.empty()) {
    out.scores.clear();
    take_log(log, wish, where, out);
  }
  add_log(log, out);
  if (out.steps.empty() && out.scores.empty())
    throw Error("the log holds no epoch of the tutorial", where,
                log_file.empty() ? "its event files have the tags Loss/train and Loss/valid"
                                 : "a line \"Time taken for epoch 1 is ...\" tells one");
  if (!log.started.empty()) out.started = log.started;
  out.device = wish.device;
  if (const std::string mode = log.setting("amp_mode"); mode == "fp16" || mode == "bf16")
    out.precision = mode;
  out.failure = log.failure;
  if (log.restarts > 0)
    out.notes.push_back(counted(log.restarts, "earlier training") + " in the same log left out");
  if (!log_file.empty()) out.files.push_back(log_file);
  out.files.insert(out.files.end(), event_files.begin(), event_files.end());
  return out;
}

}  // namespace isobar
