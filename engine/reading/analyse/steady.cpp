#include "analyse/steady.h"

#include "analyse/run_reader.h"

namespace isobar {

double SteadyFigures::mean(std::string_view field) const {
  const auto found = means.find(field);
  return found == means.end() ? -1 : found->second;
}

double SteadyFigures::last(std::string_view field) const {
  const auto found = lasts.find(field);
  return found == lasts.end() ? -1 : found->second;
}

SteadyFigures steady_figures(const std::filesystem::path& run) {
  constexpr std::string_view kPrefix = "train/";
  RunReader reader(run, /*keep_series=*/true);
  reader.read_all();
  SteadyFigures out;
  out.view = reader.view();
  out.samples_per_s = out.view.summary.samples_per_s;
  if (out.view.summary.world > 1) {
    out.ranks = read_ranks(run);
    // Ranks that do not wait for each other have rates of their own: the run is as fast as its slowest.
    if (out.ranks->samples_per_s() > 0) out.samples_per_s = out.ranks->samples_per_s();
  }
  const CurveTable& table = reader.series().steps();
  const std::size_t first = table.places.step.lower_bound(static_cast<double>(out.view.steady_from()));
  out.steps = static_cast<std::int64_t>(table.places.step.size() - first);
  for (const auto& [name, curve] : table.curves) {
    if (!curve.y.empty()) out.lasts[name.substr(kPrefix.size())] = curve.y.back();
    const std::size_t begin = curve.index_of_row(first);
    if (begin >= curve.y.size()) continue;
    out.means[name.substr(kPrefix.size())] =
        curve.y.extent(begin, curve.y.size()).sum / static_cast<double>(out.steps);
  }
  return out;
}

Spread over(const Repeats& repeats, const std::function<double(const SteadyFigures&)>& figure) {
  std::vector<double> values;
  for (const SteadyFigures& one : repeats) {
    if (const double value = figure(one); value >= 0) values.push_back(value);
  }
  return Spread(values);
}

Spread rates(const Repeats& repeats) {
  return over(repeats,
              [](const SteadyFigures& one) { return one.samples_per_s > 0 ? one.samples_per_s : -1; });
}

Spread means(const Repeats& repeats, std::string_view field) {
  return over(repeats, [&](const SteadyFigures& one) { return one.mean(field); });
}

}  // namespace isobar
