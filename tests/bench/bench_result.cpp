#include "bench/bench_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "core/clock.h"
#include "core/files.h"
#include "core/random.h"

namespace isobar {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kResamples = 10'000;

/// A checkout may be a work tree, whose .git is a file that names the folder.
std::filesystem::path git_folder() {
  const std::filesystem::path git = project_home() / ".git";
  std::ifstream file(git);
  std::string word;
  std::string folder;
  return file >> word >> folder && word == "gitdir:" ? std::filesystem::path(folder) : git;
}

std::string commit() {
  const std::filesystem::path git = git_folder();
  std::ifstream head(git / "HEAD");
  std::string word;
  std::string name;
  head >> word >> name;
  if (word != "ref:") return word.substr(0, 12);
  std::ifstream common_file(git / "commondir");
  std::string common = ".";
  common_file >> common;
  word.clear();
  std::ifstream reference(git / common / name);
  reference >> word;
  return word.substr(0, 12);
}

double positive(double value) { return std::max(value, 1e-12); }

double ratio_of_medians(const PairedRow& row, const std::vector<double>& ours,
                        const std::vector<double>& peer) {
  return row.is_rate ? median(ours) / positive(median(peer)) : median(peer) / positive(median(ours));
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Ratio ratio_of(const PairedRow& row) {
  const std::size_t pairs = std::min(row.ours.size(), row.peer.size());
  Ratio out;
  out.value = ratio_of_medians(row, row.ours, row.peer);
  std::vector<double> ratios;
  std::vector<double> ours(pairs);
  std::vector<double> peer(pairs);
  const std::uint64_t key = stream_key(1, "bootstrap");
  std::uint64_t drawn = 0;
  for (std::uint64_t resample = 0; resample < kResamples; ++resample) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const std::uint64_t pick = below_at(key, drawn++, pairs);
      ours[i] = row.ours[pick];
      peer[i] = row.peer[pick];
    }
    ratios.push_back(ratio_of_medians(row, ours, peer));
  }
  std::sort(ratios.begin(), ratios.end());
  out.least = ratios[kResamples / 40];
  out.most = ratios[kResamples - 1 - kResamples / 40];
  return out;
}

void print_row(const BenchRow& row) {
  const auto [least, most] = std::minmax_element(row.values.begin(), row.values.end());
  const std::string limit = row.limit > 0 ? fmt::format("asked for: at most {:g}", row.limit) : "";
  fmt::print("  {:<46} {:>9.3g} {:<6} {:>9.3g} to {:<9.3g} {}\n", row.name, median(row.values), row.unit,
             *least, *most, limit);
}

void print_row(const PairedRow& row) {
  const Ratio ratio = ratio_of(row);
  const std::string asked =
      row.least_ratio > 0 ? fmt::format("  asked for: at least {:g}", row.least_ratio) : "";
  fmt::print("  {:<34} {:>8.4g} {:<4} {:>8.4g} {:<4} {:>6.3f}x  ({:.3f} to {:.3f}){}\n", row.name,
             median(row.ours), row.unit, median(row.peer), row.unit, ratio.value, ratio.least, ratio.most,
             asked);
}

Json row_json(const BenchRow& row) {
  const auto [least, most] = std::minmax_element(row.values.begin(), row.values.end());
  return {{"case", row.name}, {"unit", row.unit},   {"ours", median(row.values)},  {"least", *least},
          {"most", *most},    {"limit", row.limit}, {"repeats", row.values.size()}};
}

Json row_json(const PairedRow& row) {
  const Ratio ratio = ratio_of(row);
  Json out = {{"case", row.name},
              {"unit", row.unit},
              {"ours", median(row.ours)},
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

Json result_json(const std::string& bench, const Json& machine, const Json& rows) {
  return {{"bench", bench}, {"commit", commit()}, {"date", wall_iso()}, {"machine", machine}, {"rows", rows}};
}

void write_result(const std::filesystem::path& file, const Json& result) {
  write_file_whole(file, result.dump(2) + "\n");
}

}  // namespace isobar
