#include "bench/bench_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/clock.h"
#include "core/commit.h"
#include "core/random.h"

namespace isobar {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kResamples = 10'000;

double positive(double value) { return std::max(value, 1e-12); }

double ratio_of_medians(const PairedRow& row, const std::vector<double>& ours,
                        const std::vector<double>& peer) {
  return is_rate(row.unit) ? median(ours) / positive(median(peer)) : median(peer) / positive(median(ours));
}

/// `value` with the interval of what `again` makes of `count` draws, of which any may come again.
Estimate bootstrap(double value, std::size_t count,
                   const std::function<double(const std::vector<std::size_t>&)>& again) {
  std::vector<double> found;
  std::vector<std::size_t> picks(count);
  const std::uint64_t key = stream_key(1, "bootstrap");
  std::uint64_t drawn = 0;
  for (std::uint64_t resample = 0; resample < kResamples; ++resample) {
    for (std::size_t& pick : picks) pick = below_at(key, drawn++, count);
    found.push_back(again(picks));
  }
  std::sort(found.begin(), found.end());
  return {value, found[kResamples / 40], found[kResamples - 1 - kResamples / 40]};
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

bool is_rate(const std::string& unit) { return unit.ends_with("/s"); }

Estimate ratio_of(const PairedRow& row) {
  const std::size_t pairs = std::min(row.ours.size(), row.peer.size());
  std::vector<double> ours(pairs);
  std::vector<double> peer(pairs);
  return bootstrap(ratio_of_medians(row, row.ours, row.peer), pairs,
                   [&](const std::vector<std::size_t>& picks) {
                     for (std::size_t i = 0; i < pairs; ++i) {
                       ours[i] = row.ours[picks[i]];
                       peer[i] = row.peer[picks[i]];
                     }
                     return ratio_of_medians(row, ours, peer);
                   });
}

Estimate median_of(const std::vector<double>& values) {
  std::vector<double> drawn(values.size());
  return bootstrap(median(values), values.size(), [&](const std::vector<std::size_t>& picks) {
    for (std::size_t i = 0; i < values.size(); ++i) drawn[i] = values[picks[i]];
    return median(drawn);
  });
}

void print_row(const BenchRow& row) {
  const auto [least, most] = std::minmax_element(row.values.begin(), row.values.end());
  const std::string limit = row.limit > 0 ? fmt::format("asked for: at most {:g}", row.limit) : "";
  fmt::print("  {:<46} {:>9.3g} {:<6} {:>9.3g} to {:<9.3g} {}\n", row.name, median(row.values), row.unit,
             *least, *most, limit);
}

void print_row(const PairedRow& row) {
  const Estimate ratio = ratio_of(row);
  const std::string asked =
      row.least_ratio > 0 ? fmt::format("  asked for: at least {:g}", row.least_ratio) : "";
  fmt::print("  {:<34} {:>8.4g} {:<4} {:>8.4g} {:<4} {:>6.3f}x  ({:.3f} to {:.3f}){}\n", row.name,
             median(row.ours), row.unit, median(row.peer), row.unit, ratio.value, ratio.least, ratio.most,
             asked);
}

Json row_json(const BenchRow& row) {
  const auto [least, most] = std::minmax_element(row.values.begin(), row.values.end());
  const Estimate ours = median_of(row.values);
  return {{"case", row.name},       {"unit", row.unit},      {"ours", ours.value},
          {"ours_min", ours.least}, {"ours_max", ours.most}, {"least", *least},
          {"most", *most},          {"limit", row.limit},    {"repeats", row.values.size()}};
}

Json row_json(const PairedRow& row) {
  const Estimate ratio = ratio_of(row);
  const Estimate ours = median_of(row.ours);
  Json out = {{"case", row.name},
              {"unit", row.unit},
              {"ours", ours.value},
              {"ours_min", ours.least},
              {"ours_max", ours.most},
              {"peer", median(row.peer)},
              {"peer_name", row.peer_name},
              {"ratio", ratio.value},
              {"ratio_min", ratio.least},
              {"ratio_max", ratio.most},
              {"floor", row.floor > 0 ? Json(row.floor) : Json(nullptr)},
              {"pairs", row.ours.size()}};
  if (row.moved_bytes > 0) {
    out["moved_bytes"] = row.moved_bytes;
    out["gb_per_s"] = row.moved_bytes / positive(median(row.ours)) * 1e-3;
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
