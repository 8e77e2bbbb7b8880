#include "analyse/steady.h"

#include <vector>

#include "analyse/run_reader.h"
#include "analyse/spread.h"

namespace isobar {
namespace {

double found(const std::map<std::string, double, std::less<>>& values, std::string_view field) {
  const auto at = values.find(field);
  return at == values.end() ? -1 : at->second;
}

}  // namespace

double SteadyFigures::median(std::string_view field) const { return found(medians, field); }
double SteadyFigures::total(std::string_view field) const { return found(totals, field); }

SteadyFigures steady_figures(const std::filesystem::path& run) {
  constexpr std::string_view kPrefix = "train/";
  RunReader reader(run, /*keep_series=*/true);
  while (reader.update()) {
  }
  SteadyFigures out;
  out.view = reader.view();
  out.samples_per_s = out.view.summary.samples_per_s;
  const CurveTable& table = reader.series().steps();
  const auto first = static_cast<std::size_t>(out.view.summary.warm_up_steps);
  const std::size_t rows = table.places.step.size();
  out.steps = rows > first ? static_cast<std::int64_t>(rows - first) : 0;
  for (const auto& [name, curve] : table.curves) {
    std::vector<double> values;
    double sum = 0;
    for (std::size_t i = curve.index_of_row(first); i < curve.y.size(); ++i) {
      values.push_back(curve.y[i]);
      sum += curve.y[i];
    }
    if (values.empty()) continue;
    const std::string field = name.substr(kPrefix.size());
    out.medians[field] = Spread(values).median();
    out.totals[field] = sum;
  }
  return out;
}

}  // namespace isobar
