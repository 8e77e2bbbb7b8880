// metrics.csv of any bytes.
#include <fmt/format.h>

#include <cmath>

#include "core/error.h"
#include "fuzz/checks.h"
#include "imported/log_files.h"

using namespace isobar;

namespace {

bool same(const std::optional<double>& one, const std::optional<double>& other) {
  if (!one || !other) return !one && !other;
  return *one == *other || (std::isnan(*one) && std::isnan(*other));
}

/// As Lightning would write it, under names of our own.
std::string written(const MetricsTable& table) {
  std::string out = "step,epoch";
  for (std::size_t i = 0; i < table.columns.size(); ++i) out += fmt::format(",\"c\"\"{}\"", i);
  out += "\n";
  for (const MetricsRow& row : table.rows) {
    out += fmt::format("{},{}", row.step, row.epoch ? std::to_string(*row.epoch) : "");
    for (const std::optional<double>& value : row.values) out += value ? fmt::format(",{}", *value) : ",";
    out += "\n";
  }
  return out;
}

/// What was read holds together, and is read the same from the file that Lightning would write.
void check(const MetricsTable& table, std::size_t bytes) {
  require(table.columns.size() <= 512 && table.rows.size() <= bytes);
  for (const std::string& name : table.columns) check_text(name);
  for (const MetricsRow& row : table.rows)
    require(row.step >= 0 && row.epoch.value_or(0) >= 0 && row.values.size() == table.columns.size());
  const MetricsTable copy = parse_metrics_csv(written(table), "again");
  require(copy.columns.size() == table.columns.size() && copy.rows.size() == table.rows.size());
  for (std::size_t i = 0; i < copy.rows.size(); ++i) {
    const MetricsRow &one = table.rows[i], &other = copy.rows[i];
    require(one.step == other.step && one.epoch == other.epoch);
    for (std::size_t j = 0; j < one.values.size(); ++j) require(same(one.values[j], other.values[j]));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  try {
    check(parse_metrics_csv(input, "fuzz"), size);
  } catch (const Error& error) {
    require(error.code() == Exit::bad_input && !error.where().empty() && !error.hint().empty());
    check_text(error.what());
    check_text(error.where());
  }
  return 0;
}
