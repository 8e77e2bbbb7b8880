#include "course/recorded_truth.h"

#include <fmt/format.h>

#include <cmath>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/machine.h"
#include "core/processors.h"
#include "core/text.h"
#include "course/page_section.h"
#include "course/variant.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

Truth truth_in(const Json& line) {
  const auto number = [&](const char* key) {
    return line.contains(key) ? line.at(key).as_number() : std::numeric_limits<double>::quiet_NaN();
  };
  Truth out;
  out.number = number("number");
  out.low = number("low");
  out.high = number("high");
  for (const Json& one : line.at("accepted").values()) out.accepted.push_back(one.as_text());
  out.text = line.at("text").as_text();
  for (const Json& one : line.at("figures").values()) {
    const std::string& figure = one.as_text();
    const std::size_t end = figure.find('=');
    if (end == std::string::npos) throw Error("a figure without a value: " + printable(figure, 60), "", "");
    out.figures[figure.substr(0, end)] = figure.substr(end + 1);
  }
  out.source = "recorded on " + line.at("device").as_text() + ", " + line.at("date").as_text();
  return out;
}

}  // namespace

fs::path recorded_file(const fs::path& home, const std::string& lesson) {
  return home / "lessons" / lesson / "recorded" / "answers.jsonl";
}

std::optional<Truth> recorded_truth(const fs::path& home, const Question& question) {
  const fs::path file = recorded_file(home, question.lesson);
  std::error_code code;
  if (!fs::exists(file, code)) return std::nullopt;
  std::optional<Truth> out;
  std::size_t number = 0;
  for (const std::string& text : split(read_text_file(file, kMostPageBytes), '\n')) {
    ++number;
    if (text.empty()) continue;
    try {
      const Json line = Json::parse(text);
      const bool is_asked =
          line.at("id").as_text() == question.id && line.at("drawn").as_text() == drawn_text(question.drawn);
      if (is_asked) out = truth_in(line);
    } catch (const Error& error) {
      throw Error(error.what(), fmt::format("{}:{}", file.string(), number),
                  "./isobar quiz " + question.lesson + " --record writes it again");
    }
  }
  return out;
}

std::string recorded_line(const Question& question, const Truth& truth) {
  std::vector<std::string> figures;
  for (const auto& [name, value] : truth.figures) figures.push_back(name + "=" + value);
  Json out = {{"id", question.id}, {"drawn", drawn_text(question.drawn)}};
  const std::pair<const char*, double> numbers[] = {
      {"number", truth.number}, {"low", truth.low}, {"high", truth.high}};
  for (const auto& [name, value] : numbers) {
    if (std::isfinite(value)) out[name] = value;
  }
  out["accepted"] = Json(truth.accepted);
  out["text"] = truth.text;
  out["figures"] = Json(figures);
  out["device"] = fmt::format("{}, {}", cpu_name(), counted(processors_here().count, "processor"));
  out["date"] = wall_iso().substr(0, 10);
  return out.text();
}

}  // namespace isobar
