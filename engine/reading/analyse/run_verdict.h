#pragma once
// What bounds one run and by how much, what it shows, and what to try next.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analyse/run_case.h"
#include "analyse/steady.h"
#include "analyse/verdict.h"

namespace isobar {

/// Facts that a run folder does not hold.
struct RunFacts {
  double attention_flops = 0;     ///< a sample, forward and backward; 0 = not known
  double memory_bytes_per_s = 0;  ///< measured on this machine; 0 = not measured
  LessonsHere lessons = {};
  std::vector<std::string> honours = {};  ///< keys of the run's lesson
  bool computes_16_bit = true;  ///< this machine has instructions for products of 16 bits, or a GPU that has
};

/// The least time in which the step's arithmetic can be done, and its traffic: time >= max(FLOP / rate,
/// bytes / bandwidth), curriculum: the roofline. Of one rank; 0 = not known.
struct Roofline {
  double flops = 0;                       ///< a step, attention included
  std::optional<double> attention_share;  ///< part of them
  double arithmetic_us = 0;               ///< at the peak that was measured, or is on the data sheet
  double moved_bytes = 0;                 ///< a step, by its operators
  double memory_us = 0;                   ///< at the bandwidth that was measured
  double computing_us = 0;                ///< forward, backward, optimise and replay, as they were

  double least_us() const { return arithmetic_us > memory_us ? arithmetic_us : memory_us; }
};

struct RunVerdict {
  bool is_known = false;         ///< else there are no figures to judge
  std::string why_unknown = {};  ///< what they lack, as the end of a sentence
  Verdict verdict;
  TimeParts parts;
  double share = 0;  ///< share of the step that the bound takes
  Roofline roofline;
  bool of_quartet = false;  ///< a quartet with these settings decided it
  /// What makes its figures worth less: other programs, a peak that was measured too low, that it goes on.
  std::vector<std::string> warnings;
  std::string notice;       ///< one thing to notice
  std::string next;         ///< one thing to try, as a command
  std::string next_lesson;  ///< where that is to run another lesson with this one's preset, ranks and disk
};

/// The runs of the newest quartet beside `run` that had its settings (but for how many steps it took), by
/// case: "io", "synthetic", "full", "no_comm". Nothing where there is none.
std::optional<QuartetFigures> find_quartet(const RunCase& run, const RunFacts& facts);

/// The quartet's verdict where there is one. Else, by the anatomy of a step: a straggler that keeps the
/// others waiting for a tenth of it; then the largest of load, copy, exposed communication, the host (time in
/// which nobody computes) and computing.
RunVerdict judge_run(const RunCase& run, const std::optional<QuartetFigures>& quartet, const RunFacts& facts);

/// "bound by data: the loop waits 74.0 of 92.1 ms a step for its batch".
std::string verdict_sentence(const RunVerdict& verdict);
/// "30.3 GFLOP a step (12 % attention) take 6.1 ms at the measured peak; ..."; "" = not known.
std::string roofline_sentence(const Roofline& roofline);

}  // namespace isobar
