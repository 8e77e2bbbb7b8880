#pragma once
// What holds a training run back, from the same run with one part of it at a time: IO only reads batches,
// SYNTHETIC only computes (one batch that is always there), FULL does both, NO-COMM is SYNTHETIC without
// communication.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/ranks.h"
#include "analyse/spread.h"
#include "analyse/steady.h"

namespace isobar {

enum class Bound {
  fault,          ///< the figures contradict each other, or one is missing
  straggler,      ///< one rank is slower than the others, and they wait for it
  data,           ///< batches come too slowly
  contention,     ///< copy or contention: what could run at the same time does not
  communication,  ///< between ranks
  launch,         ///< the host hands work to the device too slowly
  compute
};

/// "data", "copy or contention", "host (launch)", ...
const char* bound_name(Bound bound);

struct QuartetFigures {
  Spread io, synthetic, full, no_comm;  ///< samples/s, one value a trial; no_comm may be empty
  /// Of FULL: the median over its trials of each field's mean over steady steps, such as "load_us".
  std::map<std::string, double, std::less<>> fields;
  bool reads_ahead = false;                    ///< the loader works beside the training loop
  bool on_device = false;                      ///< the model is on a device with a clock of its own
  std::optional<double> attention_share = {};  ///< share of the model's operations, predicted from its shape
  std::optional<double> mfu = {};              ///< share in FULL
  std::vector<RanksView> ranks = {};           ///< one for each trial of FULL; empty for one process

  /// Nothing when FULL does not have the field.
  std::optional<double> field(std::string_view name) const;
};

/// From the repeats of the four cases; `no_comm` may be empty.
QuartetFigures quartet_figures(const Repeats& io, const Repeats& synthetic, const Repeats& full,
                               const Repeats& no_comm);

struct Verdict {
  Bound bound = Bound::fault;
  std::string sentence;               ///< what it means for this run
  std::vector<std::string> evidence;  ///< sentences with the numbers that it rests on
  int straggler = -1;                 ///< the rank, where that is what bounds it
};

/// The first rule that matches:
///  1. FULL > 1.03 min(IO, SYNTHETIC), and not the same inside the spread of the trials: measurement fault.
///     Then, between ranks, one that most trials of FULL name as the straggler and that keeps the others
///     waiting for a tenth of the step: straggler, unless the others wait for data anyway (rule 2) and it is
///     not its loading that takes longer.
///  2. IO < 0.97 SYNTHETIC, and FULL reaches IO: data.
///  3. FULL does not reach min(IO, SYNTHETIC): copy or contention.
///  4. 1 - SYNTHETIC / NO-COMM >= 0.10: communication: latency where it is more than half of the time of a
///     message of the mean size by the probe of the link, else bandwidth.
///  5. host time of forward, backward and optimise >= 0.95 of the step, and the device idle for 10 % of it:
///     host (launch).
///  6. else compute.
/// FULL reaches a rate when it is at least 0.9 of it, or the same inside the spread of the trials. The same
/// tenth for data and compute, since a few per cent of shared cores must not hide what bounds the run; what
/// is lost to sharing is reported.
Verdict judge_quartet(const QuartetFigures& figures);

/// A collective of the mean size on the link that the ranks probed: a + s / B.
struct MeanMessage {
  double bytes = 0;       ///< bytes that a rank sends
  double latency_us = 0;  ///< sum over all messages of an all-reduce
  double moving_us = 0;

  double latency_share() const { return latency_us / (latency_us + moving_us); }
  const char* bound() const { return latency_share() > 0.5 ? "latency" : "bandwidth"; }
};
/// Nothing where the link was not probed, or no messages were counted.
std::optional<MeanMessage> mean_message(const RanksView& view);

/// "0.3 of 12.4 ms a step"; "0.3 ms a step" of a part that is longer than the step, as another rank's can be.
std::string of_step(double part_us, double step_us);

/// ", bound by latency: ..." where the ranks probed their link and counted messages, else "".
std::string latency_or_bandwidth(const std::vector<RanksView>& ranks);

/// Lessons that are here, each with what it helps against (config/lesson.h).
using LessonsHere = std::map<std::string, std::vector<std::string>>;

/// What the learner may do next, with the settings of the quartet.
struct NextStep {
  std::string verb = "quartet";  ///< what is done with another lesson: "run"
  std::string lesson;
  LessonsHere lessons;
  std::vector<std::string> honours;  ///< keys of this lesson
  bool products_count = true;        ///< whether cheaper products of matrices would make it faster
  std::string full_run = "";         ///< a run folder of FULL, to look into
  /// The settings to type for a lesson: without what it would refuse, and without the key that a sweep
  /// varies.
  std::function<std::string(const std::string& lesson, const std::string& varied)> words;
};
std::string next_command(const Verdict& verdict, const NextStep& step);

}  // namespace isobar
