#include "analyse/run_store.h"

#include <algorithm>

#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostRuns = 20'000;
constexpr std::int64_t kScanEvery_us = 1'000'000;
constexpr std::int64_t kLookAtLiveEvery_us = 1'000'000;
constexpr std::int64_t kLookAtFinishedEvery_us = 5'000'000;

}  // namespace

struct RunStore::Run {
  RunEntry entry;
  Stamp stamp;
  bool looked = false;  ///< its line in the list is there
  std::int64_t looked_us = kNever_us;
  bool wanted = false;  ///< open
  std::unique_ptr<RunReader> reader;
  EventFiles events;
  RunSeries foreign_series;
  RunDetail detail;
  std::vector<std::unique_ptr<SpanReader>> span_readers;
  std::vector<Stamp> memory_stamps;    ///< the files that were read, by rank
  std::int64_t beside_us = kNever_us;  ///< ranks, spans and memory were read
  bool grew = false;                   ///< since then
  std::string problem;                 ///< problem of the last look
  std::string lasting;                 ///< problem that is reported for good
  bool refused = false;                ///< it is not read any further
  bool reading = false;                ///< more is waiting in the file than was read
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
  if (std::ranges::find(places_, place) != places_.end()) return;
  places_.push_back(place);
  scanned_us_ = kNever_us;
}

void RunStore::forget(Run& run) {
  run.reader.reset();
  run.events = {};
  run.foreign_series = RunSeries{};
  run.span_readers.clear();
  run.memory_stamps.clear();
  run.beside_us = kNever_us;
  run.detail = RunDetail{};
  run.entry.detail.reset();
  run.problem.clear();
  run.lasting.clear();
  run.refused = false;
  run.stamp = {};  // its line in the list is made again at once
  run.looked_us = kNever_us;
  run.reading = run.wanted;
}

void RunStore::open(const std::set<std::string>& ids) {
  wanted_ = ids;
  for (auto& [id, run] : runs_) {
    const bool wanted = ids.count(id) != 0;
    if (wanted == run->wanted) continue;
    run->wanted = wanted;
    run->reading = wanted && !run->entry.gone;
    if (wanted || run->entry.gone) continue;
    forget(*run);
    publish(*run);
  }
}

void RunStore::add_run(const FoundFolder& found, std::set<std::string>& seen) {
  const std::string id = found.path.string();
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
  run->entry.folder = found.path;
  run->entry.id = id;
  run->entry.name = printable(found.name, 200);
  run->entry.foreign = !found.is_run;
  run->wanted = run->reading = wanted_.count(id) != 0;
  run->entry.started_ns = std::max<std::int64_t>(
      0, stamp_of(found.is_run ? RunFolder{found.path}.config_file() : found.path).time_ns);
  changed_ = true;
}

void RunStore::scan_place(const fs::path& place, std::set<std::string>& seen) {
  std::error_code code;
  if (!fs::is_directory(place, code)) {
    problems_.push_back(printable(place.string()) +
                        (fs::exists(place, code) ? " is no folder" : " is not there yet"));
    return;
  }
  const auto knows = [&](const fs::path& folder) {
    const auto known = runs_.find(folder.string());
    // A folder of event files may come to hold others.
    if (known == runs_.end() || known->second->entry.gone || known->second->entry.foreign) return false;
    seen.insert(known->first);
    return true;
  };
  bool all = true;
  const TreeEnd end = visit_run_tree(place, knows, [&](const FoundFolder& found) {
    if (!found.is_run && !found.has_events) return;
    const bool fits = runs_.size() < kMostRuns || runs_.count(found.path.string()) != 0;
    all = all && fits;
    if (fits) add_run(found, seen);
  });
  if (!all)
    problems_.push_back(printable(place.string()) + " holds more than can be shown; the rest is left out");
  for (const std::string& sentence : end.left_out.sentences())
    problems_.push_back(printable(place.string()) + ": " + sentence);
  if (end.code) problems_.push_back(printable(place.string()) + " cannot be read: " + end.code.message());
}

bool RunStore::places_changed() const {
  return std::ranges::any_of(places_, [&](const fs::path& place) {
    const auto known = stamps_.find(place);
    return known == stamps_.end() || stamp_of(place) != known->second;
  });
}

void RunStore::scan() {
  const std::vector<std::string> before = std::move(problems_);
  problems_.clear();
  std::set<std::string> seen;
  for (const fs::path& place : places_) {
    stamps_[place] = stamp_of(place);  // before: what comes meanwhile changes it again
    scan_place(place, seen);
  }
  for (auto& [id, run] : runs_) {
    if (seen.count(id) != 0 || run->entry.gone) continue;
    run->entry.gone = true;
    publish(*run);
  }
  if (before != problems_) changed_ = true;
  scanned_us_ = steady_us();
}

void RunStore::publish(Run& run) {
  const std::string gone = run.entry.gone ? "the folder is gone; this is what was read of it" : "";
  run.entry.problem.clear();
  for (const std::string& part : {gone, run.lasting, run.problem}) {
    if (!part.empty()) run.entry.problem += (run.entry.problem.empty() ? "" : "; ") + part;
  }
  run.published = std::make_shared<const RunEntry>(run.entry);
  changed_ = true;
}

/// The line in the list: from the head and the tail of the stream.
void RunStore::look(Run& run) {
  run.looked = true;
  run.looked_us = steady_us();
  if (run.entry.gone) return;
  const Stamp stamp = stamp_of(run.stream());
  const bool live = run.entry.view.state == RunState::running;
  if (run.published && stamp == run.stamp && !live) return;
  run.stamp = stamp;
  std::string problem;
  try {
    run.entry.note = note_of(run.entry.folder);
    if (run.entry.foreign) {
      run.entry.view.state = RunState::done;
    } else if (!run.reader) {
      run.entry.view = glance(run.entry.folder);
      run.entry.judged_us = steady_us();
    }
  } catch (const std::exception& error) {
    problem = printable(error.what(), 400);
  }
  if (!run.reader && run.events.size() == 0) run.problem = problem;
  publish(run);
}

bool RunStore::read_foreign(Run& run) {
  bool any = run.events.update(run.entry.folder, [&](const TfScalar& scalar) {
    run.foreign_series.take_scalar(scalar.tag, static_cast<double>(scalar.step), scalar.wall_time_s,
                                   scalar.value, scalar.session);
  });
  const std::string problem = printable(joined(run.events.problems(), "; "), 400);
  any = any || problem != run.problem;
  run.problem = problem;
  run.entry.view.left_out = run.events.left_out();
  run.entry.view.summary.steps = static_cast<std::int64_t>(std::min(9e15, run.foreign_series.last_step()));
  run.reading = any;
  return any;
}

bool RunStore::read_stream(Run& run) {
  const bool first = !run.reader;
  if (first) {
    run.problem.clear();
    run.reader = std::make_unique<RunReader>(run.entry.folder, true);
    try {
      run.detail.config = config_of(run.entry.folder);
    } catch (const Error& error) {
      run.lasting = printable(error.what(), 400);
    }
  }
  const int restarts = run.reader->restarts();
  const bool grew = run.reader->update();
  run.reading = grew;
  const bool replaced = run.reader->restarts() != restarts;
  if (replaced) run.lasting = "the stream was replaced while it was read; this is the new one";
  const bool turned = run.reader->view().state != run.entry.view.state;
  if (first || grew || replaced || turned) {
    run.entry.view = run.reader->view();
    run.entry.judged_us = steady_us();
  }
  return first || grew || replaced || turned;
}

/// A file that is there is read once; one that cannot be is named, and the run's other parts are shown.
void RunStore::read_memories(Run& run, std::size_t ranks) {
  run.detail.memory.resize(ranks);
  run.detail.memory_planned.resize(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const Stamp stamp = stamp_of(RunFolder{run.entry.folder}.memory_file(static_cast<int>(rank)));
    if (run.memory_stamps.size() <= rank) run.memory_stamps.resize(rank + 1);
    if (stamp.size <= 0 || stamp == std::exchange(run.memory_stamps[rank], stamp)) continue;
    try {
      run.detail.memory[rank] =
          std::make_shared<const MemoryTimeline>(read_memory(run.entry.folder, static_cast<int>(rank)));
      run.detail.memory_planned[rank] = read_ends(run.entry.folder, static_cast<int>(rank)).view().memory;
      run.detail.memory_problem.clear();
    } catch (const Error& error) {
      run.detail.memory_problem = printable(error.what() + (", " + error.where()), 400);
    }
  }
}

/// What lies beside the stream of rank 0: the other ranks, and the spans. True when it was read again: at
/// most once a second while it runs, and when its stream has grown.
bool RunStore::read_beside(Run& run, bool grew) {
  constexpr std::uint64_t kMostBytes = 4 << 20;
  const bool live = run.entry.view.state == RunState::running;
  const bool first = run.beside_us == kNever_us;
  run.grew = run.grew || grew;  // what ends a run comes with its last lines
  if (run.entry.foreign || run.reading || (!first && !run.grew && !live)) return false;
  if (!first && live && steady_us() - run.beside_us < kLookAtLiveEvery_us) return false;
  run.beside_us = steady_us();
  run.grew = false;
  const std::int64_t world = run.entry.view.summary.world;
  if (world > 1)
    run.detail.ranks = std::make_shared<const RanksView>(read_ranks(run.entry.folder, kMostBytes));
  const auto count = static_cast<std::size_t>(std::min<std::int64_t>(world, kMostSpanRanks));
  run.detail.spans.resize(count);
  for (std::size_t rank = run.span_readers.size(); rank < count; ++rank)
    run.span_readers.push_back(std::make_unique<SpanReader>(run.entry.folder, static_cast<int>(rank)));
  for (std::size_t rank = 0; rank < count; ++rank) {
    bool any = false;
    while (run.span_readers[rank]->update()) any = true;
    if (any) run.detail.spans[rank] = std::make_shared<const SpanTable>(run.span_readers[rank]->table());
  }
  read_memories(run, count);
  return true;
}

/// All of an open run. What is refused once stays refused: what follows an
/// unknown schema means nothing.
void RunStore::read_open(Run& run) {
  if (run.refused) return;
  bool any = false;
  try {
    any = run.entry.foreign ? read_foreign(run) : read_stream(run);
    any = read_beside(run, any) || any;
  } catch (const std::exception& error) {
    run.problem = printable(error.what(), 400);
    run.reading = false;
    run.refused = any = true;
  }
  const bool complete = !run.reading;
  if (!any && complete == run.detail.complete) return;
  run.detail.complete = complete;
  run.detail.field_steps = field_steps_of(run.entry.folder);
  auto detail = std::make_shared<RunDetail>(run.detail);
  detail->series = run.entry.foreign ? run.foreign_series.snapshot()
                   : run.reader      ? run.reader->series().snapshot()
                                     : RunSeries{};
  run.entry.detail = std::move(detail);
  publish(run);
}

bool RunStore::update(std::chrono::milliseconds budget) {
  const std::int64_t begin_us = steady_us();
  // A place of very many names is listed less often, so that listing takes at most a hundredth of a core:
  // what is new in it itself is seen at once, what is new further below later.
  const std::int64_t since_us = begin_us - scanned_us_;
  if (since_us > std::max(kScanEvery_us, 100 * scan_took_us_) ||
      (since_us > kScanEvery_us && places_changed())) {
    scan();
    scan_took_us_ = steady_us() - begin_us;
  }
  std::vector<Run*> order;
  for (auto& [id, run] : runs_) order.push_back(run.get());
  // What is open first, then what was never read, newest first.
  std::ranges::sort(order, [](const Run* a, const Run* b) {
    if (a->wanted != b->wanted) return a->wanted;
    if (a->looked != b->looked) return !a->looked;
    return a->entry.started_ns > b->entry.started_ns;
  });
  for (Run* const run : order) {
    const std::int64_t now_us = steady_us();
    const bool live = run->entry.view.state == RunState::running;
    if (!run->looked || now_us - run->looked_us > (live ? kLookAtLiveEvery_us : kLookAtFinishedEvery_us))
      look(*run);
    if (run->wanted && !run->entry.gone) read_open(*run);
    if (now_us - begin_us > std::chrono::microseconds(budget).count()) break;
  }
  return changed_;
}

bool RunStore::is_idle() const {
  return std::ranges::all_of(runs_, [](const auto& entry) {
    const Run& run = *entry.second;
    return run.looked && !(run.wanted && run.reading && !run.entry.gone);
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
  std::ranges::sort(out->runs, [](const auto& a, const auto& b) {
    // Recorded and predicted runs come last: the times of their files mean nothing.
    const bool here = a->view.provenance.empty();
    if (here != b->view.provenance.empty()) return here;
    return a->started_ns != b->started_ns ? a->started_ns > b->started_ns : a->id < b->id;
  });
  out->problems = problems_;
  out->version = ++version_;
  changed_ = false;
  snapshot_ = std::move(out);
  return snapshot_;
}

}  // namespace isobar
