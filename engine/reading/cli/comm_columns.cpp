#include "cli/comm_columns.h"

#include <fmt/format.h>

#include "core/json.h"
#include "core/text.h"

namespace isobar {

namespace {

double median_of(const Repeats& repeats, double CommFigures::*figure) {
  const Spread found =
      over(repeats, [&](const SteadyFigures& one) { return one.ranks ? one.ranks->comm.*figure : -1; });
  return found.empty() ? -1 : found.median();
}

std::string percent(double share) { return share < 0 ? "-" : fmt::format("{:.0f} %", 100 * share); }
Json or_null(double value) { return value < 0 ? Json() : Json(value); }

}  // namespace

TableRow CommColumns::heads() { return {"comm calls", "exposed ms", "overlap", "last bucket"}; }

TableRow CommColumns::cells() const {
  return {fmt::format("{:.6g}", calls), milliseconds(exposed_us), percent(overlap), percent(last_bucket)};
}

Json CommColumns::json() const {
  return {{"calls", calls},
          {"exposed_us", or_null(exposed_us)},
          {"overlap", or_null(overlap)},
          {"last_bucket", or_null(last_bucket)}};
}

std::optional<CommColumns> comm_columns(const Repeats& repeats) {
  CommColumns out;
  out.calls = median_of(repeats, &CommFigures::comm_calls);
  if (!(out.calls > 0)) return std::nullopt;
  out.exposed_us = median_of(repeats, &CommFigures::exposed_us);
  out.overlap = median_of(repeats, &CommFigures::overlap);
  out.last_bucket = median_of(repeats, &CommFigures::last_bucket);
  return out;
}

}  // namespace isobar
