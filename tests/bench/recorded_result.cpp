#include "bench/recorded_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::uint64_t kMostBytes = 1U << 20;
constexpr std::size_t kMostRows = 1000;
constexpr std::size_t kMostFields = 200;  // of "machine"
constexpr std::size_t kMostOptions = 100;
constexpr double kRounding = 1e-3;
constexpr const char* kHint = "a result is what ./isobar bench NAME --out FILE writes";

bool has(const Json& json, std::string_view key) {
  return std::find(json.keys().begin(), json.keys().end(), key) != json.keys().end();
}

std::string text_of(const Json& json, std::string_view key) { return printable(json.at(key).as_text()); }

/// A figure of a row with the keys of its least and most, where the row has them.
RecordedFigure figure(const Json& row, const std::string& key, const std::string& least,
                      const std::string& most, SpreadFrom spread) {
  RecordedFigure out;
  out.at.value = row.at(key).as_number();
  if (!has(row, least) && !has(row, most)) return out;
  out.at.least = row.at(least).as_number();
  out.at.most = row.at(most).as_number();
  if (!(out.at.least <= out.at.value && out.at.value <= out.at.most)) {
    throw Error(fmt::format("\"{}\" is {:g}, which is not between {:g} and {:g}", key, out.at.value,
                            out.at.least, out.at.most),
                "", "");
  }
  out.spread = spread;
  return out;
}

/// A ratio that contradicts its own medians was not made by a bench, or is of a unit of the other direction.
void check_ratio(const RecordedRow& row, double peer) {
  if (!(row.ours.at.value > 0 && peer > 0)) return;
  const double ratio = is_rate(row.unit) ? row.ours.at.value / peer : peer / row.ours.at.value;
  if (std::abs(row.ratio.at.value - ratio) > kRounding * ratio) {
    throw Error(
        fmt::format("\"ratio\" is {:g}, but \"ours\" and \"peer\" give {:g}", row.ratio.at.value, ratio), "",
        "");
  }
}

RecordedRow parse_row(const Json& json) {
  RecordedRow row;
  row.name = text_of(json, "case");
  if (has(json, "peer_name")) row.peer_name = text_of(json, "peer_name");
  if (has(json, "not_measured")) {
    std::string why = json.at("not_measured").as_text();
    std::replace(why.begin(), why.end(), '\n', ';');
    row.not_measured = printable(why);
    return row;
  }
  row.unit = text_of(json, "unit");
  const bool paired = has(json, "peer");
  const std::int64_t repeats = json.at(paired ? "pairs" : "repeats").as_integer();
  if (repeats < 1) throw Error(fmt::format("{} repeats", repeats), "", "");
  row.ours = figure(json, "ours", "ours_min", "ours_max", SpreadFrom::interval);
  if (row.ours.spread == SpreadFrom::none)
    row.ours = figure(json, "ours", "least", "most", SpreadFrom::range);
  if (paired) {
    text_of(json, "peer_name");
    row.ratio = figure(json, "ratio", "ratio_min", "ratio_max", SpreadFrom::interval);
    check_ratio(row, json.at("peer").as_number());
  }
  for (RecordedFigure* const figure : {&row.ours, &row.ratio}) {
    figure->repeats = repeats;
    if (repeats == 1) figure->spread = SpreadFrom::none;
  }
  return row;
}

void add_fields(const Json& json, const std::string& path,
                std::vector<std::pair<std::string, std::string>>& out) {
  for (std::size_t i = 0; i < json.keys().size(); ++i) {
    const Json& value = json.values()[i];
    const std::string name = (path.empty() ? "" : path + ".") + printable(json.keys()[i], 40);
    if (!value.keys().empty()) {
      add_fields(value, name, out);
      continue;
    }
    const std::string text = value.text();
    out.emplace_back(name, printable(text.front() == '"' ? value.as_text() : text));
    if (out.size() > kMostFields) throw Error(fmt::format("more than {} fields", kMostFields), "", "");
  }
}

std::string parse_options(const Json& json) {
  if (json.values().size() > kMostOptions) throw Error("more options than a command has", "", "");
  std::vector<std::string> words;
  for (const Json& word : json.values()) words.push_back(shell_quoted(printable(word.as_text())));
  return joined(words, " ");
}

/// What `body` throws, with its place.
void inside(const std::string& where, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    throw Error(error.what(), where, kHint);
  }
}

void check_names(const std::vector<RecordedRow>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t before = 0; before < i; ++before) {
      const RecordedRow& one = rows[before];
      if (one.not_measured.empty() && one.name == rows[i].name && one.unit == rows[i].unit)
        throw Error(fmt::format("two rows \"{}\" in \"{}\"", one.name, one.unit), "", "");
    }
  }
}

}  // namespace

RecordedResult parse_result(std::string_view text, const std::string& bench, const std::string& where) {
  RecordedResult out;
  Json json;
  inside(where, [&] {
    json = Json::parse(text);
    out.bench = text_of(json, "bench");
  });
  if (out.bench != bench) {
    throw Error(fmt::format("results of bench {}, not {}", printable(out.bench, 40), bench), where,
                fmt::format("name a result of ./isobar bench {}", bench));
  }
  inside(where, [&] {
    out.commit = text_of(json, "commit");
    out.date = text_of(json, "date");
    out.complete = !has(json, "complete") || json.at("complete").text() != "false";
    if (has(json, "options")) out.options = parse_options(json.at("options"));
    if (!json.at("rows").keys().empty() || json.at("rows").text().front() != '[')
      throw Error("\"rows\" is no list", "", "");
    if (json.at("rows").values().size() > kMostRows)
      throw Error(fmt::format("more than {} rows", kMostRows), "", "");
  });
  const std::vector<Json>& rows = json.at("rows").values();
  for (std::size_t i = 0; i < rows.size(); ++i)
    inside(fmt::format("{}, row {}", where, i + 1), [&] { out.rows.push_back(parse_row(rows[i])); });
  inside(where + ", \"rows\"", [&] { check_names(out.rows); });
  inside(where + ", \"machine\"", [&] {
    add_fields(json.at("machine"), "", out.machine);
    if (out.machine.empty()) throw Error("nothing is told of the machine", "", "");
  });
  return out;
}

RecordedResult read_result(const std::filesystem::path& file, const std::string& bench) {
  return parse_result(read_text_file(file, kMostBytes), bench, file.string());
}

}  // namespace isobar
