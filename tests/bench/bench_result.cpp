#include "bench/bench_result.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/clock.h"
#include "core/files.h"

namespace isobar {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string commit() {
  std::ifstream head(project_home() / ".git/HEAD");
  std::string word;
  std::string name;
  head >> word >> name;
  if (word != "ref:") return word.substr(0, 12);
  std::ifstream reference(project_home() / ".git" / name);
  reference >> word;
  return word.substr(0, 12);
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void print_row(const BenchRow& row) {
  const auto [least, most] = std::minmax_element(row.values.begin(), row.values.end());
  const std::string limit = row.limit > 0 ? fmt::format("asked for: at most {:g}", row.limit) : "";
  fmt::print("  {:<46} {:>9.3g} {:<6} {:>9.3g} to {:<9.3g} {}\n", row.name, median(row.values), row.unit,
             *least, *most, limit);
}

void write_result(const std::filesystem::path& file, const std::string& bench,
                  const std::vector<BenchRow>& rows) {
  nlohmann::ordered_json out = {{"bench", bench}, {"commit", commit()}, {"date", wall_iso()}};
  double load[3] = {};
  if (getloadavg(load, 3) < 1) load[0] = -1;
  out["machine"] = {
      {"processor", processor()}, {"cores", std::thread::hardware_concurrency()}, {"load", load[0]}};
  out["rows"] = nlohmann::ordered_json::array();
  for (const BenchRow& row : rows) {
    const auto [least, most] = std::minmax_element(row.values.begin(), row.values.end());
    out["rows"].push_back({{"case", row.name},
                           {"unit", row.unit},
                           {"ours", median(row.values)},
                           {"least", *least},
                           {"most", *most},
                           {"repeats", row.values.size()},
                           {"limit", row.limit}});
  }
  write_file_whole(file, out.dump(2) + "\n");
}

}  // namespace isobar
