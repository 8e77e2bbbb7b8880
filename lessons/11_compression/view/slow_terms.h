#pragma once
// Why a run with compressed gradients is slower, or quicker, than one without: by terms that both measured.
#include "analyse/steady.h"

namespace isobar::lesson_11 {

/// Means of rank 0 over its steady steps, in us. In a step of buckets
///
///   computing + arithmetic of compression + exposed communication = step;
///   exposed communication - waiting for ranks that came later = time under way - what computing hides of it.
///
/// The recorder counts the arithmetic to backward, and waiting for a sum within backward to communication.
struct RunTimes {
  double step_us = 0;
  double forward_us = 0;
  double backward_us = 0;    ///< without the arithmetic of compression
  double arithmetic_us = 0;  ///< compress_us
  double exposed_us = 0;     ///< comm_us
  double waited_us = 0;      ///< waited_us
  double under_way_us = 0;   ///< comm_total_us
  double calls = 0;          ///< comm_calls
  double wire_bytes = 0;

  /// All but communication and the arithmetic of compression: what the page does outside stages, too.
  double computing_us() const { return step_us - exposed_us - arithmetic_us; }
  /// Time under way beside computing.
  double hidden_us() const { return under_way_us - (exposed_us - waited_us); }
};

/// Fields that no step has count as 0.
RunTimes times_of(const SteadyFigures& run);

/// The median of each over the repeats.
RunTimes median_of(const Repeats& repeats);

/// What an all-reduce takes: call_us + wire bytes / bytes_per_us (formula/link.h); 0 bytes_per_us = no limit.
struct CallCost {
  double call_us = 0;
  double bytes_per_us = 0;
};

/// Compressed less plain, in us. Each is a difference of measured times, none what the others leave, and by
/// the two equations above their sum is the difference of the steps.
struct SlowTerms {
  double bytes_us = 0;         ///< bytes on the link: below 0, what is saved
  double extra_calls_us = 0;   ///< latencies
  double lost_overlap_us = 0;  ///< less of the time under way lies beside computing
  /// Contention and synchronisation: the same computing takes longer, ranks wait longer for each other, and
  /// messages are under way for longer than by the two terms of the link (above_formula_us of it).
  double contention_us = 0;
  double above_formula_us = 0;
  double arithmetic_us = 0;

  double sum_us() const {
    return bytes_us + extra_calls_us + lost_overlap_us + contention_us + arithmetic_us;
  }
};

SlowTerms slow_terms(const RunTimes& plain, const RunTimes& compressed, const CallCost& link);

}  // namespace isobar::lesson_11
