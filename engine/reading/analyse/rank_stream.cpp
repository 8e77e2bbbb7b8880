#include "analyse/rank_stream.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "analyse/event_log.h"
#include "analyse/run_files.h"
#include "analyse/spans.h"
#include "core/number_text.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

/// -1 where the field is missing or makes no sense.
double figure(const Event& event, std::string_view key) {
  const double value = event.number(key, -1);
  return std::isfinite(value) && value >= 0 ? value : -1;
}

RankStep step_of(const Event& event) {
  RankStep out;
  out.step = event.integer("step", -1);
  out.samples = std::max(0.0, figure(event, "samples"));
  out.step_us = std::max(0.0, figure(event, "step_us"));
  for (const auto& [name, place] : kStepComm) out.*place = figure(event, name);
  out.waited_for = figure(event, "waited_for");
  out.waited_us = figure(event, "waited_us");
  for (std::size_t i = 0; i < kStages; ++i) out.stages_us[i] = figure(event, kStageKeys[i]);
  return out;
}

class RankStreamBuilder {
 public:
  explicit RankStreamBuilder(const std::string& where) : view_(where) {}

  void take(const Event& event) {
    view_.take(event);
    const std::string_view kind = event.kind();
    out_.peak_bytes = std::max(out_.peak_bytes, figure(event, "peak_bytes"));
    if (kind == "run") {
      out_.steps.clear();  // the newest attempt counts
      out_.peak_bytes = -1;
    } else if (kind == "step") {
      const RankStep step = step_of(event);
      if (step.step >= 0 && (out_.steps.empty() || step.step > out_.steps.back().step))
        out_.steps.push_back(step);
    } else if (kind == "note" && event.text("text") == "probe") {
      out_.probe =
          MeasuredLink{event.text("backend"), std::max(0.0, figure(event, "latency_us")),
                       std::max(0.0, figure(event, "algbw_gb_per_s")),
                       std::max(0.0, figure(event, "busbw_gb_per_s")), std::max(0.0, figure(event, "bytes"))};
    }
  }
  /// Lines were left out between what was taken and what comes.
  void skip() {
    view_.skip();
    out_.steps.clear();
  }
  void count_unread() { view_.count_unread(); }
  RankStream finish(double silent_s, const fs::path& folder) {
    view_.judge(silent_s, folder);
    out_.view = view_.view();
    return std::move(out_);
  }

 private:
  RunViewBuilder view_;
  RankStream out_;
};

/// "rank-0003.jsonl" as 3, -1 for another name.
int rank_of_name(std::string_view name) {
  constexpr std::string_view kBegin = "rank-";
  constexpr std::string_view kEnd = ".jsonl";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd) || name.size() < kBegin.size() + kEnd.size() + 4)
    return -1;
  return number_of<int>(name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size())).value_or(-1);
}

}  // namespace

RankStream read_rank_stream(const fs::path& folder, int rank, std::uint64_t most_bytes) {
  const fs::path path = RunFolder{folder}.stream_file(rank);
  RankStreamBuilder builder(path.string());
  take_ends(read_ends(folder, rank, most_bytes), builder);
  return builder.finish(silence_s(path), folder);
}

std::vector<int> ranks_in(const fs::path& folder) {
  std::vector<int> out;
  for (const fs::path& path : entries_in(folder)) {
    const int rank = rank_of_name(path.filename().string());
    if (rank >= 0 && rank < kMostRanks) out.push_back(rank);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<CommTimes> rank_comm_times(const fs::path& folder, int rank, StepRange wanted) {
  std::error_code code;
  if (!fs::exists(RunFolder{folder}.spans_file(rank), code)) return std::nullopt;
  SpanReader reader(folder, rank);
  reader.read_all();
  return comm_times(reader.table(), wanted);
}

}  // namespace isobar
