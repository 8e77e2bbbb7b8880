#pragma once
// A result beside one that was recorded before, perhaps on another machine.
#include <optional>
#include <string>
#include <vector>

#include "analyse/spread.h"
#include "bench/recorded_result.h"

namespace isobar {

/// What a quotient of two figures tells; each but `none` needs both intervals.
enum class ChangeVerdict {
  none,    ///< no quotient, or one that mixes two machines
  same,    ///< as compare() has it (analyse/spread.h)
  better,  ///< above 1
  worse,
  few,           ///< too few repeats for any of these
  another_peer,  ///< the ratios are to two peers
};

/// Now beside recorded, above 1 where now is better; no `change` where either has no spread or is not
/// positive.
struct Change {
  RecordedFigure recorded;
  RecordedFigure now;
  std::optional<Compared> change;
  ChangeVerdict verdict = ChangeVerdict::none;
};

struct ComparedRow {
  std::string name;
  std::string unit;
  Change ours;                    ///< recorded / now, of rates now / recorded
  std::optional<Change> to_peer;  ///< of the ratio to the peer: now / recorded
  std::string recorded_peer;
  std::string peer;
};

struct Difference {
  std::string what;
  std::string recorded;
  std::string now;
};

enum class Machines {
  alike,
  other,     ///< processor, cores, instruction sets, memory or GPU differ
  not_known  ///< none of these differs, but not all were recorded
};

struct Comparison {
  std::string date;    ///< of the recorded one
  std::string commit;  ///< of the recorded one
  bool complete = true;
  std::vector<ComparedRow> rows;
  std::vector<std::string> only_recorded;  ///< "cpu_tiny (ms)", or "cpu_tiny (not measured now: why)"
  std::vector<std::string> only_now;
  std::vector<Difference> differences;    ///< of command, commit and machine
  std::vector<std::string> not_recorded;  ///< of the machine, what only the result of now tells
  Machines machines = Machines::alike;
};

/// The quotient of two figures measured apart. None where one has no spread or reaches 0.
std::optional<Compared> quotient(const RecordedFigure& above, const RecordedFigure& below);

Comparison compare(const RecordedResult& recorded, const RecordedResult& now);

/// For a person.
std::vector<std::string> comparison_lines(const Comparison& comparison);
/// {"commit", "date", "complete", "machines", "rows", "only_recorded", "only_now", "differences",
/// "not_recorded"}; rows are {"case", "unit", "ours", "to_peer"}, both of these
/// {"recorded": {"value", "min", "max"}, "now": ..., "ratio", "ratio_min", "ratio_max", "verdict"}: null
/// where there is none.
nlohmann::ordered_json comparison_json(const Comparison& comparison);

}  // namespace isobar
