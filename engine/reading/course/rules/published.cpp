// Figures that the ERA5 tutorial published (lessons/published.toml).
#include <fmt/format.h>

#include <algorithm>

#include "config/toml_text.h"
#include "core/text.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

struct PublishedRow {
  double least = 0, most = 0;
  std::string device = "A100-40GB";
  double middle() const { return (least + most) / 2; }
};

std::vector<double> values_in(const TomlValue& value) {
  if (const auto* const numbers = std::get_if<std::vector<double>>(&value)) return *numbers;
  if (const auto* const whole = std::get_if<std::vector<std::int64_t>>(&value))
    return {whole->begin(), whole->end()};
  return {};
}

PublishedRow row_of(const RuleInput& input, const std::vector<TomlEntry>& entries, const std::string& name) {
  const std::string head = "rows." + name + ".", year = input.argument("year");
  PublishedRow out;
  std::vector<double> values;
  std::vector<std::string> years, rows;
  for (const TomlEntry& entry : entries) {
    if (entry.key.starts_with("rows.") && entry.key.ends_with(".what"))
      rows.push_back(entry.key.substr(5, entry.key.size() - 10));
    if (!entry.key.starts_with(head)) continue;
    const std::string rest = entry.key.substr(head.size());
    if (rest == "what" && plain_text(entry.value).find("A100-80GB") != std::string::npos)
      out.device = "A100-80GB";
    if (rest == year) values = values_in(entry.value);
    if (rest.find_first_not_of("0123456789") == std::string::npos) years.push_back(rest);
  }
  if (values.empty())
    wrong_question(input, fmt::format("nothing was published of \"{}\" in {}", name, year),
                   years.empty() ? did_you_mean(name, rows, "rows: " + joined(rows))
                                 : "years of this row: " + joined(years));
  out.least = *std::ranges::min_element(values);
  out.most = *std::ranges::max_element(values);
  return out;
}

}  // namespace

Truth published_truth(const RuleInput& input) {
  const std::vector<TomlEntry> entries = read_toml(input.home / "lessons/published.toml");
  const PublishedRow above = row_of(input, entries, input.argument("above"));
  const PublishedRow below = row_of(input, entries, input.argument("below"));
  if (!(below.least > 0)) wrong_question(input, "a ratio over nothing", "the row below is 0");
  Truth out;
  out.number = in_unit(input.question, Quantity::ratio, above.middle() / below.middle());
  out.low = above.least / below.most;
  out.high = above.most / below.least;
  out.figures = {{"above", figure_text(above.middle())},
                 {"below", figure_text(below.middle())},
                 {"ratio", fmt::format("{:.2f}", out.number)},
                 {"year", input.argument("year")}};
  out.text = fmt::format("{} over {}: {:.2f} times", out.figures["above"], out.figures["below"], out.number);
  const std::string device =
      above.device == below.device ? above.device : above.device + " and " + below.device;
  out.source = fmt::format("recorded on {}, {}", device, input.argument("year"));
  return out;
}

}  // namespace isobar
