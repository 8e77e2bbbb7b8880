#include "analyse/run_store.h"

#include <sys/stat.h>

#include <algorithm>

#include "config/toml_text.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostRuns = 20'000;
constexpr std::size_t kMostEntries = 200'000;  // names looked at in one folder
constexpr std::size_t kMostEventFiles = 64;
constexpr auto kScanEvery = std::chrono::seconds(1);
constexpr auto kLookAtFinishedEvery = std::chrono::seconds(5);
constexpr std::uint64_t kMostNoteBytes = 4096;

/// What tells a changed file from an unchanged one without opening it.
struct Stamp {
  std::int64_t size = -1;
  std::int64_t time_ns = 0;
  std::uint64_t inode = 0;
  bool operator==(const Stamp&) const = default;
};

Stamp stamp_of(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_size, status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec, status.st_ino};
}

bool is_run_folder(const fs::path& folder) {
  std::error_code code;
  return fs::exists(RunFolder{folder}.config_file(), code) ||
         fs::exists(RunFolder{folder}.stream_file(0), code);
}

std::vector<fs::path> event_files(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code code;
  std::size_t seen = 0;
  for (fs::directory_iterator it(folder, code), end; !code && it != end && ++seen < kMostEntries;
       it.increment(code)) {
    if (it->path().filename().string().find("tfevents") != std::string::npos) out.push_back(it->path());
  }
  std::sort(out.begin(), out.end());
  if (out.size() > kMostEventFiles) out.resize(kMostEventFiles);
  return out;
}

std::vector<std::pair<std::string, std::string>> config_of(const fs::path& folder) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const TomlEntry& entry : read_toml(RunFolder{folder}.config_file())) {
    out.emplace_back(printable(entry.key, 120), printable(plain_text(entry.value), 400));
  }
  return out;
}

std::vector<std::int64_t> field_steps_of(const fs::path& folder) {
  std::vector<std::int64_t> out;
  std::error_code code;
  for (fs::directory_iterator it(folder / "fields", code), end; !code && it != end; it.increment(code)) {
    const std::string name = it->path().filename().string();
    if (name.size() < 10 || name.rfind("step-", 0) != 0 || it->path().extension() != ".npy") continue;
    const std::string digits = name.substr(5, name.size() - 9);
    if (digits.size() > 15 || digits.find_first_not_of("0123456789") != std::string::npos) continue;
    out.push_back(std::stoll(digits));
    if (out.size() > kMostEntries) break;
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string note_of(const fs::path& folder) {
  std::error_code code;
  if (!fs::exists(folder / "note.txt", code)) return "";
  return printable(read_text_file(folder / "note.txt", kMostNoteBytes), 200);
}

}  // namespace

struct RunStore::Run {
  RunEntry entry;
  Stamp stamp;
  bool looked = false;  ///< its line in the list is there
  Clock::time_point looked_at{};
  bool wanted = false;  ///< open
  std::unique_ptr<RunReader> reader;
  std::vector<TfEventsReader> event_readers;
  RunSeries foreign_series;
  RunDetail detail;
  bool reading = false;  ///< more is waiting in the file than was read
  std::shared_ptr<const RunEntry> published;

  fs::path stream() const { return RunFolder{entry.folder}.stream_file(0); }
};

std::shared_ptr<const RunEntry> StoreSnapshot::find(const std::string& id) const {
  for (const auto& run : runs) {
    if (run->id == id) return run;
  }
  return nullptr;
}

RunStore::RunStore(std::vector<fs::path> places) : places_(std::move(places)) {}
RunStore::~RunStore() = default;

void RunStore::add_place(const fs::path& place) {
  if (std::find(places_.begin(), places_.end(), place) != places_.end()) return;
  places_.push_back(place);
  scanned_ = {};
}

/// Drops what was read of every value.
void RunStore::forget(Run& run) {
  run.reader.reset();
  run.event_readers.clear();
  run.foreign_series = RunSeries{};
  run.detail = RunDetail{};
  run.entry.detail.reset();
  run.reading = run.wanted;
}

void RunStore::open(const std::set<std::string>& ids) {
  wanted_ = ids;
  for (auto& [id, run] : runs_) {
    const bool wanted = ids.count(id) != 0;
    if (wanted == run->wanted) continue;
    run->wanted = wanted;
    run->reading = wanted;
    if (wanted) continue;
    forget(*run);
    publish(*run);
  }
}

void RunStore::add_run(const fs::path& folder, bool foreign, std::set<std::string>& seen) {
  const std::string id = folder.string();
  seen.insert(id);
  auto& run = runs_[id];
  if (run) {
    if (run->entry.gone) {  // it came back
      run->entry.gone = false;
      run->looked = false;
      forget(*run);
    }
    return;
  }
  run = std::make_unique<Run>();
  run->entry.folder = folder;
  run->entry.id = id;
  run->entry.name = printable(folder.filename().string(), 80);
  run->entry.foreign = foreign;
  run->wanted = run->reading = wanted_.count(id) != 0;
  run->entry.started_ns =
      std::max<std::int64_t>(0, stamp_of(foreign ? folder : RunFolder{folder}.config_file()).time_ns);
  changed_ = true;
}

void RunStore::scan_place(const fs::path& place, std::set<std::string>& seen) {
  std::error_code code;
  if (!fs::is_directory(place, code)) {
    problems_.push_back(printable(place.string()) +
                        (fs::exists(place, code) ? " is no folder" : " is not there yet"));
    return;
  }
  if (is_run_folder(place)) return add_run(place, false, seen);
  if (!event_files(place).empty()) return add_run(place, true, seen);
  std::size_t looked = 0;
  for (fs::directory_iterator it(place, code), end; !code && it != end; it.increment(code)) {
    if (++looked > kMostEntries || runs_.size() >= kMostRuns) {
      problems_.push_back(printable(place.string()) + " holds more than can be shown; the rest is left out");
      return;
    }
    const std::string id = it->path().string();
    const auto known = runs_.find(id);
    if (known != runs_.end() && !known->second->entry.gone) {
      std::error_code missing;
      if (fs::is_directory(it->path(), missing)) seen.insert(id);
      continue;
    }
    std::error_code broken;
    if (!it->is_directory(broken) || broken) continue;
    if (is_run_folder(it->path())) {
      add_run(it->path(), false, seen);
    } else if (!event_files(it->path()).empty()) {
      add_run(it->path(), true, seen);
    }
  }
  if (code) problems_.push_back(printable(place.string()) + " cannot be read: " + code.message());
}

void RunStore::scan() {
  const std::vector<std::string> before = std::move(problems_);
  problems_.clear();
  std::set<std::string> seen;
  for (const fs::path& place : places_) scan_place(place, seen);
  for (auto& [id, run] : runs_) {
    if (seen.count(id) != 0 || run->entry.gone) continue;
    run->entry.gone = true;
    run->entry.problem = "the folder is gone; this is what was read of it";
    publish(*run);
  }
  if (before != problems_) changed_ = true;
  scanned_ = Clock::now();
}

void RunStore::publish(Run& run) {
  run.published = std::make_shared<const RunEntry>(run.entry);
  changed_ = true;
}

/// The line in the list: from the head and the tail of the stream.
bool RunStore::look(Run& run) {
  run.looked = true;
  run.looked_at = Clock::now();
  if (run.entry.gone) return false;
  const Stamp stamp = stamp_of(run.stream());
  const bool live = run.entry.view.state == RunState::running;
  if (run.published && stamp == run.stamp && !live) return false;
  run.stamp = stamp;
  run.entry.problem.clear();
  try {
    run.entry.note = note_of(run.entry.folder);
    if (run.entry.foreign) {
      run.entry.view.state = RunState::done;
    } else if (!run.reader) {
      run.entry.view = glance(run.entry.folder);
    }
  } catch (const Error& error) {
    run.entry.problem = printable(error.text(), 400);
  } catch (const std::exception& error) {
    run.entry.problem = printable(error.what(), 400);
  }
  publish(run);
  return true;
}

bool RunStore::read_foreign(Run& run) {
  bool any = false;
  if (run.event_readers.empty()) {
    for (const fs::path& file : event_files(run.entry.folder)) run.event_readers.emplace_back(file);
  }
  std::int64_t skipped = 0;
  bool damaged = false;
  for (TfEventsReader& reader : run.event_readers) {
    const TfEvents events = reader.read_new();
    any = any || !events.scalars.empty() || !events.images.empty();
    for (const TfScalar& scalar : events.scalars) {
      run.foreign_series.take_scalar(scalar.tag, static_cast<double>(scalar.step), scalar.wall_time_s,
                                     scalar.value);
    }
    skipped += reader.skipped_records();
    damaged = damaged || reader.is_damaged();
  }
  run.entry.problem = damaged       ? "an event file is damaged; what comes after that place is not shown"
                      : skipped > 0 ? std::to_string(skipped) + " damaged records were left out"
                                    : "";
  run.entry.view.summary.steps = static_cast<std::int64_t>(std::min(9e15, run.foreign_series.last_step()));
  run.reading = any;  // a call takes a part of a large file
  return any;
}

bool RunStore::read_stream(Run& run) {
  const bool first = !run.reader;
  if (first) {
    run.reader = std::make_unique<RunReader>(run.entry.folder, true);
    try {
      run.detail.config = config_of(run.entry.folder);
    } catch (const Error& error) {
      run.entry.problem = printable(error.what(), 400);
    }
  }
  const int restarts = run.reader->restarts();
  const bool grew = run.reader->update();
  run.reading = grew;
  const bool replaced = run.reader->restarts() != restarts;
  if (replaced) run.entry.problem = "the stream was replaced while it was read; this is the new one";
  const bool turned = run.reader->view().state != run.entry.view.state;
  const bool ages = run.reader->view().state == RunState::died;
  if (first || grew || replaced || turned || ages) run.entry.view = run.reader->view();
  return first || grew || replaced || turned;
}

/// All of an open run; true when something new was read.
bool RunStore::read_open(Run& run) {
  bool any = false;
  std::string failure;
  try {
    any = run.entry.foreign ? read_foreign(run) : read_stream(run);
  } catch (const std::exception& error) {
    failure = printable(error.what(), 400);
    run.reading = false;
  }
  if (!failure.empty() && failure != run.entry.problem) {
    run.entry.problem = failure;
    any = true;
  }
  const bool complete = !run.reading;
  if (!any && complete == run.detail.complete) return false;
  run.detail.complete = complete;
  run.detail.field_steps = field_steps_of(run.entry.folder);
  auto detail = std::make_shared<RunDetail>();
  detail->series = run.entry.foreign ? run.foreign_series.snapshot()
                   : run.reader      ? run.reader->series().snapshot()
                                     : RunSeries{};
  detail->config = run.detail.config;
  detail->field_steps = run.detail.field_steps;
  detail->complete = complete;
  run.entry.detail = std::move(detail);
  publish(run);
  return true;
}

bool RunStore::update(std::chrono::milliseconds budget) {
  const Clock::time_point begin = Clock::now();
  // A folder of very many names is listed less often: listing takes at most a twentieth of one core.
  if (begin - scanned_ > std::max<Clock::duration>(kScanEvery, 20 * scan_took_)) {
    scan();
    scan_took_ = Clock::now() - begin;
  }
  std::vector<Run*> order;
  for (auto& [id, run] : runs_) order.push_back(run.get());
  // What is open first, then what was never read, newest first.
  std::sort(order.begin(), order.end(), [](const Run* a, const Run* b) {
    if (a->wanted != b->wanted) return a->wanted;
    if (a->looked != b->looked) return !a->looked;
    return a->entry.started_ns > b->entry.started_ns;
  });
  for (Run* const run : order) {
    const Clock::time_point now = Clock::now();
    const bool live = run->entry.view.state == RunState::running;
    if (!run->looked || now - run->looked_at > (live ? std::chrono::seconds(1) : kLookAtFinishedEvery))
      look(*run);
    if (run->wanted && !run->entry.gone) read_open(*run);
    if (now - begin > budget) break;
  }
  return changed_;
}

bool RunStore::is_idle() const {
  return std::all_of(runs_.begin(), runs_.end(), [](const auto& entry) {
    return entry.second->looked && !(entry.second->wanted && entry.second->reading);
  });
}

std::shared_ptr<const StoreSnapshot> RunStore::snapshot() {
  if (snapshot_ && !changed_) return snapshot_;
  auto out = std::make_shared<StoreSnapshot>();
  for (auto& [id, run] : runs_) {
    if (run->published) {
      out->runs.push_back(run->published);
    } else {
      ++out->unread;
    }
  }
  std::sort(out->runs.begin(), out->runs.end(), [](const auto& a, const auto& b) {
    return a->started_ns != b->started_ns ? a->started_ns > b->started_ns : a->id < b->id;
  });
  out->problems = problems_;
  out->version = ++version_;
  changed_ = false;
  snapshot_ = std::move(out);
  return snapshot_;
}

}  // namespace isobar
