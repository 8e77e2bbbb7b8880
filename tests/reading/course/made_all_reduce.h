#pragma once
// Runs of lesson 09 as its program leaves them: times by the model of their link, with the mistake of
// run.fault in them.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/toml_text.h"
#include "core/files.h"
#include "core/text.h"
#include "formula/link_fit.h"
#include "record/json_line.h"
#include "record/run_folder.h"
#include "ring/ring_plan.h"
#include "support/temp_folder.h"

namespace isobar {

struct MadeAllReduce {
  std::vector<std::string> sets = {};  ///< "comm.algorithm=tree"
  std::int64_t ranks = 4;
  double factor = 1;         ///< of all times
  std::string end = "done";  ///< of one that no fault ends
};

/// One all-reduce of such a run.
struct MadeStep {
  double bytes = 0, time_us = 0, messages = 0, sent_bytes = 0;
  bool is_wrong = false;
};

inline std::vector<double> made_sizes(const Config& config) {
  std::vector<double> out;
  const auto most = static_cast<double>(config.comm.bench_bytes);
  for (double bytes = 1024; bytes < most; bytes *= 4) out.push_back(bytes);
  out.push_back(most);
  return out;
}

inline MadeStep made_step(const Config& config, double bytes, double factor) {
  const CommConfig& comm = config.comm;
  const int ranks = static_cast<int>(config.run.ranks);
  const bool emulated = comm.link.latency_us > 0;
  Link link = emulated ? link_of(comm.link.latency_us, comm.link.gbit_per_s) : Link{15, 1000};
  if (config.run.fault == Fault::rank_order) link.bytes_per_us /= ranks / 2.0;
  MadeStep out{.bytes = bytes, .time_us = factor * all_reduce_us(comm.algorithm, link, ranks, bytes)};
  out.messages = static_cast<double>(ring_messages(ranks));
  out.sent_bytes = ring_bytes(ranks, bytes);
  if (config.run.fault == Fault::slow_link) out.time_us *= 10;
  if (config.run.fault == Fault::race) {
    out.time_us /= 10;
    out.is_wrong = true;
  }
  return out;
}

inline std::string made_stream(const Config& config, std::int64_t rank, const MadeAllReduce& made) {
  std::string out = JsonLine("run")
                        .add("schema", 1)
                        .add("lesson", "09_all_reduce")
                        .add("rank", rank)
                        .add("world", config.run.ranks)
                        .add("device", "cpu")
                        .add("wanted_steps", config.train.steps)
                        .text();
  const bool fails = config.run.fault == Fault::drop_message;
  const std::int64_t steps = fails ? config.run.fault_step : config.train.steps;
  const std::vector<double> sizes = made_sizes(config);
  for (std::int64_t i = 0; i < steps; ++i) {
    const MadeStep step = made_step(config, sizes[static_cast<std::size_t>(i) % sizes.size()], made.factor);
    out += JsonLine("step")
               .add("step", i)
               .add("t_us", 100'000 * i)
               .add("samples", 0)
               .add("comm_us", step.time_us)
               .add("step_us", step.time_us)
               .add("bytes", step.bytes)
               .add("all_reduce_us", step.time_us)
               .add("comm_calls", step.messages)
               .add("wire_bytes", step.sent_bytes)
               .add("wrong_values", step.is_wrong ? step.bytes / 4 : 0)
               .add("same_bits", step.is_wrong ? 0 : 1)
               .text();
  }
  out += JsonLine("summary").add("steps", steps).add("samples", 0).add("wall_us", 1000).text();
  const std::string reason = "error: rank " + std::to_string(config.run.fault_rank) +
                             " did not send its next message for 2 s\n  where: rank 2, message from rank 1";
  if (fails) return out + JsonLine("end").add("status", "failed").add("reason", reason).text();
  return made.end.empty() ? out : out + JsonLine("end").add("status", made.end).add("reason", "").text();
}

/// The messages of a ring's first all-reduce.
inline std::string made_messages(const Config& config, int rank) {
  std::string out =
      JsonLine("attempt").add("schema", 1).add("attempt", 0).add("from_step", 0).add("origin_us", 0).text();
  const int n = static_cast<int>(config.run.ranks);
  std::int64_t begin_us = 0;
  for (const CollectiveStep& step : ring_steps(ring_actions(RingKind::all_reduce, rank, n, 0), n)) {
    out += JsonLine("span")
               .add("step", 0)
               .add("track", "all_reduce")
               .add("name", step.phase == CollectivePhase::reduce ? "reduce" : "spread")
               .add("begin_us", begin_us)
               .add("duration_us", 90)
               .add("bytes", 1024 / n)
               .add("of", "all_reduce")
               .add("chunk_step", step.step)
               .add("sent_chunk", step.sent_chunk)
               .add("received_chunk", step.received_chunk)
               .add("to", (rank + 1) % n)
               .add("from", (rank + n - 1) % n)
               .text();
    begin_us += 100;
  }
  return out;
}

inline void write_all_reduce(const std::filesystem::path& folder, const Config& config,
                             const MadeAllReduce& made = {}) {
  std::filesystem::create_directories(folder);
  const RunFolder run{folder};
  write_file_whole(run.config_file(), std::string_view(to_toml(config) + "[environment]\nhost = \"here\"\n" +
                                                       "started = \"" + folder.filename().string() + "\"\n"));
  for (int rank = 0; rank < static_cast<int>(config.run.ranks); ++rank) {
    write_file_whole(run.stream_file(rank), std::string_view(made_stream(config, rank, made)));
    if (config.comm.algorithm == AllReduceKind::ring)
      write_file_whole(run.spans_file(rank), std::string_view(made_messages(config, rank)));
  }
}

inline const std::vector<std::string> kMadeLink = {"comm.link.latency_us=1000", "comm.link.gbit_per_s=1"};

/// Folders of such runs, one beside the other.
class MadeAllReduces {
 public:
  std::filesystem::path add(const std::string& name, MadeAllReduce made = {}) const {
    made.sets.push_back("run.ranks=" + std::to_string(made.ranks));
    const LessonInfo lesson = read_lesson(project_home(), "09_all_reduce");
    write_all_reduce(folder_ / name, load_config(project_home(), lesson, {.sets = made.sets}, "cpu").config,
                     made);
    return folder_ / name;
  }
  /// Over the emulated link, with `more` settings.
  std::filesystem::path linked(const std::string& name, const std::vector<std::string>& more = {},
                               std::int64_t ranks = 4) const {
    MadeAllReduce made{.sets = kMadeLink, .ranks = ranks};
    made.sets.insert(made.sets.end(), more.begin(), more.end());
    return add_three(name, made);
  }
  /// Three that repeat each other but for 1 % in their times; the first of them.
  std::filesystem::path add_three(const std::string& name, const MadeAllReduce& made) const {
    for (const int i : {3, 2, 1}) {
      MadeAllReduce one = made;
      one.factor *= 0.98 + 0.01 * i;
      add(name + std::to_string(i), one);
    }
    return folder_ / (name + "1");
  }

 private:
  TempFolder folder_;
};

}  // namespace isobar
