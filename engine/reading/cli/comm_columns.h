#pragma once
// What communication costs a step, as columns of a table of runs.
#include <optional>

#include "analyse/steady.h"
#include "cli/report.h"

namespace isobar {

/// Medians over the repeats of one run; -1 = not known.
struct CommColumns {
  double calls = -1;        ///< collectives a step
  double exposed_us = -1;   ///< a step: nothing computed meanwhile
  double overlap = -1;      ///< share of the time communicating in which the rank computed too
  double last_bucket = -1;  ///< share of the exposed time

  /// "comm calls", "exposed ms", "overlap", "last bucket"
  static TableRow heads();
  TableRow cells() const;
  Json json() const;
};

/// Nothing for runs of one rank, or that counted no collective.
std::optional<CommColumns> comm_columns(const Repeats& repeats);

}  // namespace isobar
