#include "09_all_reduce/view/all_reduce_run.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/number_text.h"
#include "core/text.h"
#include "log/event.h"
#include "record/run_folder.h"

namespace isobar::lesson_09 {
namespace {

constexpr const char* kAllReduceLesson = "09_all_reduce";

void join(AllReduceStep& all, const AllReduceStep& rank) {
  all.time_us = std::max(all.time_us, rank.time_us);
  all.messages = std::max(all.messages, rank.messages);
  all.sent_bytes = std::max(all.sent_bytes, rank.sent_bytes);
  all.wrong = std::max(all.wrong, rank.wrong);
  all.agrees = all.agrees && rank.agrees;
}

/// Time over size as a line: what a buffer without bytes would take, and what each byte adds.
struct TimeLine {
  double start_us = 0, us_per_byte = 0;
};

std::optional<TimeLine> time_line(const AllReduceRun& run) {
  const std::optional<LinkFit> fit = fit_link(run.kind, run.ranks, run.times());
  if (!fit) return std::nullopt;
  constexpr double kMiB = 1 << 20;
  TimeLine out{.start_us = all_reduce_us(run.kind, fit->link, run.ranks, 0)};
  out.us_per_byte = (all_reduce_us(run.kind, fit->link, run.ranks, kMiB) - out.start_us) / kMiB;
  return out;
}

}  // namespace

std::vector<TimedSize> AllReduceRun::times() const {
  std::vector<TimedSize> out;
  for (const AllReduceStep& step : steps) out.push_back({step.bytes, step.time_us});
  return out;
}

std::vector<TimedSize> AllReduceRun::medians() const { return medians_by_size(times()); }

Link link_in(const ConfigText& config) {
  const auto number = [&](const char* key) { return number_of<double>(value_in(config, key)).value_or(0); };
  return link_of(number("comm.link.latency_us"), number("comm.link.gbit_per_s"));
}

AllReduceRun read_all_reduces(const std::filesystem::path& run) {
  check_run_folder(run);
  AllReduceRun out;
  bool is_first = true;
  for (const int rank : ranks_in(run)) {
    std::vector<AllReduceStep> steps;
    std::string lesson;
    EventLog(RunFolder{run}.stream_file(rank)).read_all([&](const Event& event) {
      if (event.kind() == "run") {
        lesson = event.text("lesson");
        if (is_first) out.ranks = static_cast<int>(Attempt(event).world);
      }
      if (event.kind() != "step") return;
      steps.push_back({.bytes = event.number("bytes"),
                       .time_us = event.number("all_reduce_us"),
                       .messages = event.number("comm_calls"),
                       .sent_bytes = event.number("wire_bytes"),
                       .wrong = event.integer("wrong_values"),
                       .agrees = event.number("same_bits", 1) != 0});
    });
    if (!lesson.empty() && lesson != kAllReduceLesson)
      throw Error("this is a run of " + printable(lesson, 40) + ", which times no all-reduces", run.string(),
                  std::string("a run of ") + kAllReduceLesson);
    if (std::exchange(is_first, false)) out.steps = steps;
    out.steps.resize(std::min(out.steps.size(), steps.size()));
    for (std::size_t i = 0; i < out.steps.size(); ++i) join(out.steps[i], steps[i]);
  }
  if (out.steps.empty())
    throw Error("the run recorded no all-reduce", run.string(),
                std::string("./isobar run ") + kAllReduceLesson);
  const ConfigText config = config_of(run);
  if (const auto kind = choice_named<AllReduceKind>(value_in(config, "comm.algorithm"))) out.kind = *kind;
  out.link = link_in(config);
  return out;
}

std::optional<double> measured_crossing_bytes(const AllReduceRun& ring, const AllReduceRun& tree) {
  const std::optional<TimeLine> one = time_line(ring), two = time_line(tree);
  if (!one || !two) return std::nullopt;
  const double crossing = (one->start_us - two->start_us) / (two->us_per_byte - one->us_per_byte);
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const AllReduceRun* const run : {&ring, &tree}) {
    for (const TimedSize& size : run->medians()) {
      least = std::min(least, size.bytes);
      most = std::max(most, size.bytes);
    }
  }
  const bool crosses = one->start_us > two->start_us && crossing > least && crossing < most;
  return crosses ? std::optional(crossing) : std::nullopt;
}

}  // namespace isobar::lesson_09
