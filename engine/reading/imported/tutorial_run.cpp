#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include "core/error.h"
#include "core/number_text.h"
#include "core/text.h"
#include "imported/foreign_run.h"
#include "imported/log_files.h"
#include "log/event_files.h"
#include "log/tag_rows.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostValuesATag = 1'000'000, kMostTags = 512;
constexpr std::int64_t kMostStep = 1'000'000'000'000;
constexpr double kGib = 1024.0 * 1024 * 1024;

/// Figures of whole steps, as of the last training that the files hold.
using Scalars = std::vector<TagRow>;

std::int64_t step_of(const TagRow& row) { return static_cast<std::int64_t>(row.step); }

/// A tag as rows (log/tag_rows.h).
struct Tag {
  Scalars scalars;
  std::int64_t session = 0;
  std::int64_t used = 0;

  std::size_t size() const { return scalars.size(); }
  double step(std::size_t i) const { return scalars[i].step; }
  const TagRow& row(std::size_t i) const { return scalars[i]; }
  void truncate(std::size_t rows) { scalars.resize(rows); }
  void push(const TagRow& row) { scalars.push_back(row); }
};

struct Events {
  std::map<std::string, Tag, std::less<>> tags;
  LeftOut left_out;

  /// All values of a tag, which are used then; nothing where there are none.
  const Scalars* take(std::string_view tag) {
    const auto found = tags.find(tag);
    if (found == tags.end()) return nullptr;
    found->second.used = std::ssize(found->second.scalars);
    return &found->second.scalars;
  }
  std::optional<double> at(std::string_view tag, std::int64_t step) {
    const auto tag_found = tags.find(tag);
    if (tag_found == tags.end()) return std::nullopt;
    const Scalars& scalars = tag_found->second.scalars;
    const auto found = std::ranges::lower_bound(scalars, step, {}, step_of);
    if (found == scalars.end() || step_of(*found) != step) return std::nullopt;
    ++tag_found->second.used;
    return found->value;
  }
};

void add(const TfScalar& scalar, Events& out) {
  if (scalar.step < 0 || scalar.step > kMostStep)
    return out.left_out.add("value", "their step is below 0 or above 10^12");
  if (out.tags.size() >= kMostTags && out.tags.count(scalar.tag) == 0)
    return out.left_out.add("value", "their tag is none of the first 512");
  Tag& tag = out.tags[scalar.tag];
  if (tag.size() >= kMostValuesATag)
    return out.left_out.add("value", "they are not among the first million of their tag");
  const bool is_new_session = scalar.session > tag.session;
  tag.session = std::max(tag.session, scalar.session);
  const double wall_s = std::isfinite(scalar.wall_time_s) ? scalar.wall_time_s : 0;
  put_row(tag, {static_cast<double>(scalar.step), wall_s, scalar.value}, is_new_session, out.left_out);
}

Events read_events(const std::vector<fs::path>& paths) {
  Events out;
  EventFiles files;
  const EventFileList list{paths, {}};
  while (files.update(list, [&](const TfScalar& scalar) { add(scalar, out); })) {
  }
  out.left_out.add(files.left_out());
  for (const std::string& problem : files.problems()) out.left_out.add("event file", problem);
  return out;
}

/// Values of the event files that have become none of the run's.
void count_unused(const Events& events, LeftOut& out) {
  constexpr std::size_t kMostNamed = 4;
  std::int64_t others = 0;
  std::vector<std::string> names;
  for (const auto& [name, tag] : events.tags) {
    if (tag.used > 0 || tag.scalars.empty()) {
      out.add("value", "no loss stands at their step",
              std::ssize(tag.scalars) - std::min(tag.used, std::ssize(tag.scalars)));
    } else {
      others += std::ssize(tag.scalars);
      names.push_back(printable(name, 60));
    }
  }
  const std::size_t more = names.size() - std::min(names.size(), kMostNamed);
  names.resize(names.size() - more);
  out.add("value",
          "of tags that the tutorial does not write, or without its losses: " + joined(names) +
              (more > 0 ? fmt::format(" and {} more", more) : ""),
          others);
}

double begin_of(const Events& events) {
  double out = 0;
  for (const auto& [name, tag] : events.tags) {
    if (!tag.scalars.empty() && (out == 0 || tag.scalars.front().wall_s < out))
      out = tag.scalars.front().wall_s;
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

void take_events(Events& events, ForeignRun& out) {
  const double begin_s = begin_of(events);
  out.started = utc_text(begin_s);
  std::int64_t before = 0, epoch = 0;
  if (const Scalars* const losses = events.take("Loss/train")) {
    for (const TagRow& at : *losses) {
      const std::int64_t done = step_of(at);
      if (done == 0) {
        out.first_loss = at.value;
        continue;
      }
      ForeignStep step{.step = done - 1, .stands_for = done - before, .epoch = epoch++, .loss = at.value};
      step.lr = events.at("Learning Rate", done);
      step.at_s = at.wall_s - begin_s;
      const auto steps_per_s = events.at("Avg iters per sec", done);
      const auto samples_per_s = events.at("Avg samples per sec", done);
      if (steps_per_s && *steps_per_s > 0) step.step_s = 1 / *steps_per_s;
      if (out.batch == 0 && steps_per_s && *steps_per_s > 0 && samples_per_s &&
          *samples_per_s < 1e9 * *steps_per_s)
        out.batch = std::llround(std::max(0.0, *samples_per_s / *steps_per_s));
      out.steps.push_back(step);
      before = done;
    }
  }
  if (!out.steps.empty()) out.steps_per_epoch = out.steps.front().stands_for;
  const Scalars* const scores = events.take("Loss/valid");
  for (std::size_t i = 0; scores != nullptr && i < scores->size(); ++i) {
    const TagRow& at = (*scores)[i];
    ForeignScore score{.step = step_of(at), .loss = at.value, .at_s = at.wall_s - begin_s};
    for (const auto& [tag, values] : events.tags) {
      const std::string channel = channel_of(tag);
      const std::optional<double> rmse = channel.empty() ? std::nullopt : events.at(tag, score.step);
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

/// The batch; 0 = the log does not have it.
std::int64_t logged_batch(const EpochLog& log) {
  const auto said = number_of<std::int64_t>(log.setting("global_batch_size"));
  return said && *said > 0 && *said < 1'000'000'000 ? *said : 0;
}

std::int64_t batch_of(const EpochLog& log, const ImportWish& wish, const std::string& where) {
  const std::int64_t out = wish.batch > 0 ? wish.batch : logged_batch(log);
  if (out > 0) return out;
  throw Error("the log lacks the number of samples of a step", where,
              "--batch 16, as the run's configuration had it (global_batch_size)");
}

/// The first score that is not before `step`; scores go by their steps.
std::vector<ForeignScore>::iterator score_at(ForeignRun& run, std::int64_t step) {
  return std::ranges::lower_bound(run.scores, step, {}, &ForeignScore::step);
}

bool has_score(ForeignRun& run, std::int64_t step) {
  const auto found = score_at(run, step);
  return found != run.scores.end() && found->step == step;
}

/// The steps of a log beside which no event file has any. Scores of event files stay where the log has its
/// own at the same steps, which theirs replace.
void take_log(const EpochLog& log, const ImportWish& wish, const std::string& where, ForeignRun& out) {
  out.batch = batch_of(log, wish, where);
  std::int64_t done = 0;
  std::vector<ForeignScore> scores;
  for (const LoggedEpoch& epoch : log.epochs) {
    const std::int64_t steps = steps_of(epoch, out.batch, where);
    done += steps;
    if (done > kMostStep) throw Error("the log has more than 10^12 steps", where, "is --batch too small?");
    ForeignStep step{
        .step = done - 1, .stands_for = steps, .epoch = epoch.number - 1, .loss = epoch.train_loss};
    step.step_s = epoch.seconds / static_cast<double>(steps);
    step.at_s = epoch.trained_at_s;
    out.steps.push_back(step);
    if (epoch.valid_loss)
      scores.push_back({.step = done, .loss = epoch.valid_loss, .at_s = epoch.scored_at_s});
  }
  out.steps_per_epoch = out.steps.front().stands_for;
  const bool agree = !out.scores.empty() && std::ranges::all_of(scores, [&](const ForeignScore& score) {
    return has_score(out, score.step);
  });
  if (agree) return;
  std::int64_t values = 0;
  for (const ForeignScore& score : out.scores) values += 1 + std::ssize(score.others);
  out.left_out.add("value", "scores of the event files are at other steps than those of the log", values);
  out.scores = std::move(scores);
}

/// The index of the step that an epoch of the log is; nothing where the event files have none for it.
std::optional<std::size_t> index_of(const EpochLog& log, std::size_t i, const ForeignRun& run) {
  if (log.epochs.size() == run.steps.size()) return i;
  const auto number = static_cast<std::uint64_t>(log.epochs[i].number);  // from 1
  if (number > run.steps.size()) return std::nullopt;
  return number - 1;
}

/// Adds what the event files lack, from an epoch of the log.
void add_epoch(const LoggedEpoch& epoch, ForeignStep& step, bool fits, ForeignRun& out) {
  if (fits || !step.step_s) step.step_s = epoch.seconds / static_cast<double>(step.stands_for);
  if (!step.loss) step.loss = epoch.train_loss;
  if (epoch.memory_gib && *epoch.memory_gib > 0 && *epoch.memory_gib < 1e6)
    step.peak_bytes = *epoch.memory_gib * kGib;  // the log calls it GB
  const auto score = score_at(out, step.step + 1);
  if (has_score(out, step.step + 1)) {
    score->took_s = epoch.valid_s;
  } else if (epoch.valid_loss) {
    out.scores.insert(score, {.step = step.step + 1,
                              .loss = epoch.valid_loss,
                              .took_s = epoch.valid_s,
                              .at_s = epoch.scored_at_s});
  }
}

/// Adds what only the log has to the steps of the event files.
void add_log(const EpochLog& log, ForeignRun& out) {
  if (log.epochs.empty() || out.steps.empty()) return;
  const bool fits = log.epochs.size() == out.steps.size();
  if (!fits)
    out.notes.push_back(fmt::format(
        "the log has {} and the event files {}: times are those of the event files where they have some",
        counted(std::ssize(log.epochs), "epoch"), out.steps.size()));
  for (std::size_t i = 0; i < log.epochs.size(); ++i) {
    if (const std::optional<std::size_t> at = index_of(log, i, out))
      add_epoch(log.epochs[i], out.steps[*at], fits, out);
    else
      out.left_out.add("epoch", "the event files have no step for it");
  }
  const std::int64_t said = logged_batch(log);
  if (out.batch == 0) out.batch = said;
  if (said > 0 && said != out.batch)
    out.notes.push_back(fmt::format("the log names {} samples a step, and {} are taken", said, out.batch));
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
  Events events = read_events(event_files);
  out.preset = log.setting("config");
  name_run(folder, log_file, out);
  take_events(events, out);
  if (wish.batch > 0) out.batch = wish.batch;
  if (out.steps.empty() && !log.epochs.empty()) take_log(log, wish, where, out);
  add_log(log, out);
  out.left_out.add(log.left_out);
  out.left_out.add(events.left_out);
  count_unused(events, out.left_out);
  const std::string missed = joined(out.left_out.sentences(), "; ");
  if (out.steps.empty() && out.scores.empty())
    throw Error("the log holds no epoch of the tutorial" + (missed.empty() ? "" : "; " + missed), where,
                log_file.empty() ? "its event files have the tags Loss/train and Loss/valid"
                                 : "a line \"Time taken for epoch 1 is ...\" marks one, and \"# nThread "
                                   "...\" output of nccl-tests");
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
