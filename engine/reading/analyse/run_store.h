#pragma once
// All runs below some folders, kept up to date: a line for each, everything of those that are open.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyse/ranks.h"
#include "log/event_files.h"
#include "log/run_files.h"
#include "log/run_reader.h"
#include "log/spans.h"
#include "record/memory_timeline.h"
#include "record/run_tree.h"

namespace isobar {

/// Ranks whose spans an open run has.
inline constexpr int kMostSpanRanks = 8;

/// Everything of an open run; readers in another thread may keep it.
struct RunDetail {
  RunSeries series;
  ConfigText config;                       ///< key and value as text, from run.toml
  std::vector<std::int64_t> field_steps;   ///< steps of which fields/ holds input, target and prediction
  bool complete = false;                   ///< all that was in the stream at the last look is read
  std::shared_ptr<const RanksView> ranks;  ///< null for a run of one rank
  std::vector<std::shared_ptr<const SpanTable>>
      spans;  ///< spans of the first kMostSpanRanks ranks; null without any
  std::vector<std::shared_ptr<const MemoryTimeline>> memory;  ///< memory of as many ranks; null without any
  /// Bytes by category that were predicted for them; stages of a pipeline differ.
  std::vector<std::vector<std::pair<std::string, std::uint64_t>>> memory_planned;
  std::string memory_problem;  ///< why one of them cannot be read; "" = nothing
};

/// One run in the list.
struct RunEntry {
  std::filesystem::path folder;
  std::string id;    ///< the path as text: unique, and how others name this run
  std::string name;  ///< its path below the place that holds it, control characters replaced
  RunView view;
  std::int64_t judged_us = 0;   ///< on the steady clock: when `view.age_s` was right
  std::int64_t started_ns = 0;  ///< for the order, newest first
  bool foreign = false;         ///< event files of another program
  bool gone = false;            ///< its folder is not there any more; what was read of it stays
  std::string problem;          ///< why it, or a part of it, cannot be read; "" = nothing
  std::string note;
  std::shared_ptr<const RunDetail> detail;  ///< null while the run is not open
};

struct StoreSnapshot {
  std::vector<std::shared_ptr<const RunEntry>> runs;  ///< newest first; recorded and predicted ones last
  std::vector<std::string> problems;                  ///< problems of the folders that hold the runs
  std::size_t unread = 0;                             ///< runs found of which nothing was read yet
  std::uint64_t version = 0;                          ///< grows with each change

  std::shared_ptr<const RunEntry> find(const std::string& id) const;
};

/// Not thread-safe; one thread owns it and hands snapshots out.
class RunStore {
 public:
  /// Folders with run folders, or with folders of event files of other programs, at any depth; or such
  /// folders themselves.
  explicit RunStore(std::vector<std::filesystem::path> places);
  ~RunStore();

  void add_place(const std::filesystem::path& place);
  /// The runs whose every value is wanted.
  void open(const std::set<std::string>& ids);

  /// Looks for what is new, for about `budget`; true when something changed. Call it again and again.
  bool update(std::chrono::milliseconds budget);
  /// Nothing that is known of waits to be read.
  bool is_idle() const;

  std::shared_ptr<const StoreSnapshot> snapshot();

 private:
  struct Run;
  bool places_changed() const;
  void scan();
  void scan_place(const std::filesystem::path& place, std::set<std::string>& seen);
  void add_run(const FoundFolder& found, std::set<std::string>& seen);
  void look(Run& run);
  void read_open(Run& run);
  bool read_beside(Run& run, bool grew);
  void read_memories(Run& run, std::size_t ranks);
  bool read_foreign(Run& run);
  bool read_stream(Run& run);
  void forget(Run& run);
  void publish(Run& run);

  std::vector<std::filesystem::path> places_;
  std::map<std::string, std::unique_ptr<Run>> runs_;
  std::set<std::string> wanted_;
  std::vector<std::string> problems_;
  std::shared_ptr<const StoreSnapshot> snapshot_;
  static constexpr std::int64_t kNever_us = INT64_MIN / 2;

  std::map<std::filesystem::path, Stamp> stamps_;  ///< stamp of each place when it was listed
  std::int64_t scanned_us_ = kNever_us;
  std::int64_t scan_took_us_ = 0;
  std::uint64_t version_ = 0;
  bool changed_ = true;
};

}  // namespace isobar
