#include "bench/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/text.h"

namespace isobar {
namespace {

enum class Form { as_it_is, bytes, share, megahertz, load };

/// What is told of a machine, in the order of the list of differences.
struct Field {
  const char* path;
  const char* label;
  Form form;
  bool tells_machines_apart;
};
constexpr Field kFields[] = {{"processor", "processor", Form::as_it_is, true},
                             {"cores", "cores", Form::as_it_is, true},
                             {"instructions", "instruction sets", Form::as_it_is, true},
                             {"memory_bytes", "memory", Form::bytes, true},
                             {"gpu", "GPU", Form::as_it_is, true},
                             {"system", "system", Form::as_it_is, false},
                             {"libc", "C library", Form::as_it_is, false},
                             {"compiler", "compiler", Form::as_it_is, false},
                             {"libtorch", "libtorch", Form::as_it_is, false},
                             {"before.load", "load before", Form::load, false},
                             {"after.load", "load after", Form::load, false},
                             {"before.clock_mhz", "clock before", Form::megahertz, false},
                             {"after.clock_mhz", "clock after", Form::megahertz, false},
                             {"before.free_bytes", "free memory before", Form::bytes, false},
                             {"after.free_bytes", "free memory after", Form::bytes, false},
                             {"before.throttled", "slowed by heat before, times", Form::as_it_is, false},
                             {"after.throttled", "slowed by heat after, times", Form::as_it_is, false},
                             {"busy_by_others", "busy by others", Form::share, false},
                             {"stolen", "given to others by the host", Form::share, false}};
constexpr const char* kVariables = "environment.";
constexpr const char* kNotSet = "null";

using Told = std::vector<std::pair<std::string, std::string>>;

std::optional<std::string> value_of(const Told& machine, const std::string& path) {
  const auto at =
      std::find_if(machine.begin(), machine.end(), [&](const auto& one) { return one.first == path; });
  if (at != machine.end()) return at->second;
  return path == "before.load" ? value_of(machine, "load") : std::nullopt;  // as benches wrote it at first
}

std::string in_form(const std::string& text, Form form) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (form == Form::as_it_is || parsed.ec != std::errc() || parsed.ptr != end) return text;
  if (form == Form::share) return fmt::format("{:.1f} %", 100 * value);
  if (form == Form::megahertz) return fmt::format("{:.0f} MHz", value);
  if (form == Form::load || !(value >= 0 && value < 1e18)) return fmt::format("{:.2f}", value);
  return human_bytes(static_cast<std::uint64_t>(value));
}

void compare_field(const Told& recorded, const Told& now, const Field& field, Comparison& out) {
  const std::optional<std::string> before = value_of(recorded, field.path);
  const std::optional<std::string> after = value_of(now, field.path);
  if (!before && !after) return;
  const bool is_variable = std::string(field.path).rfind(kVariables, 0) == 0;
  if (is_variable && before.value_or(kNotSet) == kNotSet && after == kNotSet) return;
  if (!before) {
    out.not_recorded.emplace_back(field.label);
    if (field.tells_machines_apart && out.machines == Machines::alike) out.machines = Machines::not_known;
    return;
  }
  const auto told = [&](const std::optional<std::string>& text) {
    if (is_variable && text == kNotSet) return std::string("not set");
    return text ? in_form(*text, field.form) : "not told";
  };
  if (told(before) == told(after)) return;
  out.differences.push_back({field.label, told(before), told(after)});
  if (!field.tells_machines_apart) return;
  if (after) out.machines = Machines::other;
  if (out.machines == Machines::alike) out.machines = Machines::not_known;
}

void compare_machines(const Told& recorded, const Told& now, Comparison& out) {
  for (const Field& field : kFields) compare_field(recorded, now, field, out);
  std::vector<std::string> others = {"load"};
  for (const Field& field : kFields) others.emplace_back(field.path);
  for (const Told* const machine : {&recorded, &now}) {
    for (const auto& [path, value] : *machine) {
      if (std::find(others.begin(), others.end(), path) != others.end()) continue;
      others.push_back(path);
      compare_field(recorded, now, {path.c_str(), path.c_str(), Form::as_it_is, false}, out);
    }
  }
}

std::string label(const RecordedRow& row) { return fmt::format("{} ({})", row.name, row.unit); }

/// Why `result` has no such row, where it says it.
std::string without(const RecordedRow& row, const RecordedResult& result, const char* when) {
  for (const RecordedRow& other : result.rows) {
    const bool is_it = row.name == other.name || row.name.rfind(other.name + ",", 0) == 0;
    if (is_it && !other.not_measured.empty())
      return fmt::format("{}: not measured {}: {}", label(row), when, other.not_measured);
  }
  return label(row);
}

const RecordedRow* row_like(const RecordedRow& row, const RecordedResult& result) {
  for (const RecordedRow& other : result.rows) {
    if (other.not_measured.empty() && other.name == row.name && other.unit == row.unit) return &other;
  }
  return nullptr;
}

Change change_of(const RecordedFigure& recorded, const RecordedFigure& now, bool more_is_better) {
  using enum ChangeVerdict;
  Change out{recorded, now, more_is_better ? quotient(now, recorded) : quotient(recorded, now)};
  if (!out.change) return out;
  const bool is_few = std::min(recorded.repeats, now.repeats) < static_cast<std::int64_t>(kLeastRepeats);
  const bool is_same = out.change->is_same();
  out.verdict = is_few ? few : is_same ? same : out.change->ratio > 1 ? better : worse;
  return out;
}

ComparedRow compare_rows(const RecordedRow& recorded, const RecordedRow& now, bool other_machine) {
  ComparedRow out{now.name, now.unit, change_of(recorded.ours, now.ours, is_rate(now.unit)), {}, {}, {}};
  if (other_machine) out.ours.verdict = ChangeVerdict::none;
  if (!(recorded.ratio.at.value > 0 && now.ratio.at.value > 0)) return out;
  out.to_peer = change_of(recorded.ratio, now.ratio, true);
  out.recorded_peer = recorded.peer_name;
  out.peer = now.peer_name;
  if (out.peer != out.recorded_peer && out.to_peer->change)
    out.to_peer->verdict = ChangeVerdict::another_peer;
  return out;
}

}  // namespace

std::optional<Compared> quotient(const RecordedFigure& above, const RecordedFigure& below) {
  if (above.spread == SpreadFrom::none || below.spread == SpreadFrom::none) return std::nullopt;
  if (!(above.at.least > 0 && below.at.least > 0)) return std::nullopt;
  const auto mean_of = [](const RecordedFigure& figure) {
    return LogMean(figure.at.value, figure.at.least, figure.at.most, static_cast<double>(figure.repeats));
  };
  const Compared out = compare(mean_of(above), mean_of(below));
  const bool fits = out.low > 0 && std::isfinite(out.high);
  return fits ? std::optional(out) : std::nullopt;
}

Comparison compare(const RecordedResult& recorded, const RecordedResult& now) {
  Comparison out;
  out.date = recorded.date;
  out.commit = recorded.commit;
  out.complete = recorded.complete;
  if (!recorded.options) {
    out.not_recorded.emplace_back("options");
  } else if (*recorded.options != now.options.value_or("")) {
    const auto told = [](const std::string& words) { return words.empty() ? "none" : words; };
    out.differences.push_back({"options", told(*recorded.options), told(now.options.value_or(""))});
  }
  const auto known = [](const std::string& commit) { return commit.empty() ? "not known" : commit; };
  if (recorded.commit != now.commit)
    out.differences.push_back({"commit", known(recorded.commit), known(now.commit)});
  compare_machines(recorded.machine, now.machine, out);
  for (const RecordedRow& row : now.rows) {
    if (!row.not_measured.empty()) continue;
    if (const RecordedRow* const before = row_like(row, recorded)) {
      out.rows.push_back(compare_rows(*before, row, out.machines == Machines::other));
    } else {
      out.only_now.push_back(without(row, recorded, "then"));
    }
  }
  for (const RecordedRow& row : recorded.rows) {
    if (row.not_measured.empty() && row_like(row, now) == nullptr)
      out.only_recorded.push_back(without(row, now, "now"));
  }
  return out;
}

}  // namespace isobar
