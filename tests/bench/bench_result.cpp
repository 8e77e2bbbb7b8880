#include "bench/bench_result.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyse/spread.h"
#include "core/clock.h"
#include "core/commit.h"

namespace isobar {
namespace {

using Json = nlohmann::ordered_json;

double positive(double value) { return std::max(value, 1e-12); }

std::vector<double> ratios_of(const PairedRow& row) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(row.ours.size(), row.peer.size()); ++i) {
    const double ours = positive(row.ours[i]), peer = positive(row.peer[i]);
    ratios.push_back(is_rate(row.unit) ? ours / peer : peer / ours);
  }
  return ratios;
}

}  // namespace

double median(const std::vector<double>& values) { return Spread(values).median(); }

bool is_rate(const std::string& unit) { return unit.ends_with("/s"); }

Estimate ratio_of(const PairedRow& row) { return estimate_of(ratios_of(row)); }

void divide(PairedRow& row, const PairedRow& other) {
  row.divided_by = other.name;
  row.divided.reset();
  const Spread above(ratios_of(row)), below(ratios_of(other));
  if (std::min(above.values.size(), below.values.size()) < kLeastRepeats) return;
  const Compared found = compare(LogMean(above), LogMean(below));
  row.divided = {found.ratio, found.low, found.high};
}

Estimate estimate_of(const std::vector<double>& values) {
  const Spread spread(values);
  if (values.size() < 2 || !(spread.least() > 0)) return {spread.median(), spread.median(), spread.median()};
  const Compared found = compare(LogMean(spread), LogMean());
  return {found.ratio, found.low, found.high};
}

void print_row(const BenchRow& row) {
  const auto [least, most] = std::minmax_element(row.values.begin(), row.values.end());
  const std::string limit = row.limit > 0 ? fmt::format("asked for: at most {:g}", row.limit) : "";
  fmt::print("  {:<46} {:>9.3g} {:<6} {:>9.3g} to {:<9.3g} {}\n", row.name, estimate_of(row.values).value,
             row.unit, *least, *most, limit);
}

void print_row(const PairedRow& row) {
  const Estimate ratio = ratio_of(row);
  const std::string asked =
      row.least_ratio > 0 ? fmt::format("  asked for: at least {:g}", row.least_ratio) : "";
  fmt::print("  {:<34} {:>8.4g} {:<4} {:>8.4g} {:<4} {:>6.3f}x  ({:.3f} to {:.3f}){}\n", row.name,
             estimate_of(row.ours).value, row.unit, estimate_of(row.peer).value, row.unit, ratio.value,
             ratio.least, ratio.most, asked);
  if (row.divided_by.empty()) return;
  const std::string rest = row.divided
                               ? fmt::format("{:.3f}x  ({:.3f} to {:.3f})", row.divided->value,
                                             row.divided->least, row.divided->most)
                               : fmt::format("no ratio: under {} pairs have no spread", kLeastRepeats);
  fmt::print("    {:<60} {}\n", fmt::format("divided by that of \"{}\"", row.divided_by), rest);
}

Json row_json(const BenchRow& row) {
  const auto [least, most] = std::minmax_element(row.values.begin(), row.values.end());
  const Estimate ours = estimate_of(row.values);
  return {{"case", row.name},       {"unit", row.unit},      {"ours", ours.value},
          {"ours_min", ours.least}, {"ours_max", ours.most}, {"least", *least},
          {"most", *most},          {"limit", row.limit},    {"repeats", row.values.size()}};
}

Json row_json(const PairedRow& row) {
  const Estimate ratio = ratio_of(row);
  const Estimate ours = estimate_of(row.ours);
  Json out = {{"case", row.name},
              {"unit", row.unit},
              {"ours", ours.value},
              {"ours_min", ours.least},
              {"ours_max", ours.most},
              {"peer", estimate_of(row.peer).value},
              {"peer_name", row.peer_name},
              {"ratio", ratio.value},
              {"ratio_min", ratio.least},
              {"ratio_max", ratio.most},
              {"floor", row.floor > 0 ? Json(row.floor) : Json(nullptr)},
              {"pairs", row.ours.size()}};
  if (!row.divided_by.empty()) {
    const auto figure = [&](double Estimate::*part) {
      return row.divided ? Json((*row.divided).*part) : Json(nullptr);
    };
    out["divided_by"] = row.divided_by;
    out["divided"] = figure(&Estimate::value);
    out["divided_min"] = figure(&Estimate::least);
    out["divided_max"] = figure(&Estimate::most);
  }
  if (row.moved_bytes > 0) {
    out["moved_bytes"] = row.moved_bytes;
    out["gb_per_s"] = row.moved_bytes / positive(ours.value) * 1e-3;
    if (row.bus_factor > 0) out["busbw_gb_per_s"] = row.bus_factor * out["gb_per_s"].get<double>();
  }
  return out;
}

Json result_json(const std::string& bench, const std::vector<std::string>& options, const Json& machine,
                 const Json& rows) {
  return {{"bench", bench},     {"commit", project_commit()}, {"date", wall_iso()},
          {"options", options}, {"machine", machine},         {"rows", rows}};
}

void write_result(const NamedFile& file, const Json& result) {
  write_named_file(file, result.dump(2) + "\n");
}

}  // namespace isobar
