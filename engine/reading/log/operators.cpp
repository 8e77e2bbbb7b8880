#include "log/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/number_text.h"
#include "core/text.h"
#include "log/table.h"
#include "record/run_folder.h"

namespace isobar {

namespace {

constexpr std::size_t kMostOperators = 20'000;
constexpr std::size_t kMostOperatorBytes = 80;
constexpr std::int64_t kMostFigure = std::int64_t{1} << 60;  // two of them do not overflow

std::int64_t count_in(const Event& event, std::string_view key) {
  return std::max<std::int64_t>(event.integer(key), 0);
}

double time_us(const Event& event, std::string_view key) {
  const double value = event.number(key);
  return std::isfinite(value) && value > 0 ? value : 0;
}

/// "blocks.12.attn.q" as what stands around the first part that is a number, and that number.
struct Numbered {
  std::string before;
  std::string after;
  int number = 0;
};

std::optional<Numbered> numbered(const std::string& module) {
  for (std::size_t begin = 0; begin < module.size();) {
    const std::size_t end = std::min(module.find('.', begin), module.size());
    const auto number = number_of<int>(std::string_view(module).substr(begin, end - begin));
    if (number && *number >= 0) return Numbered{module.substr(0, begin), module.substr(end), *number};
    begin = end + 1;
  }
  return std::nullopt;
}

/// "0..3" or "0..1,3" of sorted numbers.
std::string ranges(const std::vector<int>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] - numbers[last] <= 1) ++last;
    out += (out.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (numbers[last] > numbers[i]) out += ".." + std::to_string(numbers[last]);
    i = last + 1;
  }
  return out;
}

Row row_of(const OperatorRow& row) {
  Row out;
  out.add("module", "module", row.module, row.module).add("operator", "operator", row.name, row.name);
  out.json["class"] = row.kind;
  out.add("input_types", "gets", row.inputs.empty() ? "-" : row.inputs, row.inputs)
      .add("output_type", "gives", row.output, row.output)
      .add("calls", "calls", std::to_string(row.calls), row.calls)
      .add("moved_bytes", "MB", fmt::format("{:.2f}", static_cast<double>(row.moved_bytes) * 1e-6),
           row.moved_bytes);
  out.json["op_us"] = row.op_us;
  return out;
}

}  // namespace

void take_watched(const Event& event, WatchedSummary& out) {
  if (event.kind() == "run") out = {};  // a resumed run watches a step again
  if (event.kind() == "note" && event.find("operator") != nullptr && event.text("class") == "attention" &&
      event.text("module") != "backward")
    out.add_attention(printable(event.text("operator"), kMostOperatorBytes));
  if (event.kind() != "step" || event.find("launches") == nullptr) return;
  out.step = count_in(event, "step");
  out.launches = count_in(event, "launches");
  out.moved_bytes = count_in(event, "moved_bytes");
  out.class_us.clear();
  for (const char* const name : kOperatorClassNames)
    out.class_us.emplace_back(name, time_us(event, fmt::format("{}_op_us", name)));
}

OperatorTable read_operators(const std::filesystem::path& run) {
  OperatorTable out;
  EventLog(RunFolder{run}.stream_file(0)).read_all([&](const Event& event) {
    take_watched(event, out);
    if (event.kind() == "run") out.rows.clear();
    if (event.kind() != "note" || event.find("operator") == nullptr || out.rows.size() == kMostOperators)
      return;
    const auto text = [&](std::string_view key) { return printable(event.text(key), kMostOperatorBytes); };
    out.rows.push_back({.module = text("module"),
                        .name = text("operator"),
                        .kind = text("class"),
                        .inputs = text("input_types"),
                        .output = text("output_type"),
                        .calls = count_in(event, "calls"),
                        .moved_bytes = count_in(event, "moved_bytes"),
                        .op_us = time_us(event, "op_us")});
  });
  return out;
}

std::vector<OperatorRow> folded(const std::vector<OperatorRow>& rows) {
  struct Fold {
    OperatorRow row;
    std::optional<Numbered> place;
    std::vector<int> numbers;
  };
  std::vector<Fold> folds;
  std::map<std::vector<std::string>, std::size_t> places;
  for (const OperatorRow& row : rows) {
    const std::optional<Numbered> place = numbered(row.module);
    const std::string module = place ? place->before + "#" + place->after : row.module;
    const auto [at, is_new] =
        places.try_emplace({module, row.name, row.kind, row.inputs, row.output}, folds.size());
    if (is_new) folds.push_back({row, place, {}});
    Fold& fold = folds[at->second];
    if (place) fold.numbers.push_back(place->number);
    if (is_new) continue;
    fold.row.calls = sum_of(fold.row.calls, row.calls, kMostFigure);
    fold.row.moved_bytes = sum_of(fold.row.moved_bytes, row.moved_bytes, kMostFigure);
    fold.row.op_us += row.op_us;
  }
  std::vector<OperatorRow> out;
  for (Fold& fold : folds) {
    std::ranges::sort(fold.numbers);
    if (fold.place) fold.row.module = fold.place->before + ranges(fold.numbers) + fold.place->after;
    out.push_back(std::move(fold.row));
  }
  return out;
}

std::vector<std::string> type_lines(const OperatorTable& table) {
  if (table.rows.empty())
    return {
        "the run has no table of types: it is older than the table, or ended before the step that is "
        "looked at"};
  std::vector<Row> rows;
  for (const OperatorRow& row : folded(table.rows)) rows.push_back(row_of(row));
  return table_lines(table_of(rows, 4));
}

Json watched_json(const WatchedSummary& watched) {
  Json class_us = Json::object();
  for (const char* const name : kOperatorClassNames) class_us[name] = watched.time_us(name);
  const std::string attention = attention_text(watched.attention);
  return ISOBAR_NAMED(watched.step, watched.launches, watched.moved_bytes, attention, class_us);
}

Json operators_json(const OperatorTable& table) {
  std::vector<Row> rows;
  for (const OperatorRow& row : table.rows) rows.push_back(row_of(row));
  Json out = watched_json(table);
  out["rows"] = json_of(rows);
  return out;
}

}  // namespace isobar
