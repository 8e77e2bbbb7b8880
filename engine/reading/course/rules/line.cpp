// Where in a page something stands.
#include <fmt/format.h>

#include <array>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "course/page_section.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"

namespace isobar {
namespace {

std::string without_indent(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : line.substr(begin);
}

/// Index of the first line from `from` on that holds `text`; as many as there are lines without one.
std::size_t line_with(const std::vector<std::string>& lines, const std::string& text, std::size_t from) {
  while (from < lines.size() && lines[from].find(text) == std::string::npos) ++from;
  return from;
}

Truth line_truth(const RuleInput& input) {
  const std::string file = fmt::format("lessons/{}/main.cpp", input.question.lesson);
  std::string text;
  try {
    text = read_text_file(input.home / file, kMostPageBytes);
  } catch (const Error& error) {
    throw Cannot{fmt::format("{} cannot be read: {}", file, error.what())};
  }
  const std::vector<std::string> lines = split(text, '\n');
  const std::vector<std::string> anchors = input.arguments("anchors"), ends = input.arguments("ends");
  if (ends.size() > anchors.size())
    wrong_question(input, "the rule line has more ends than anchors", "each end belongs to an anchor");
  Truth out;
  std::string first_line;
  for (std::size_t i = 0; i < anchors.size(); ++i) {
    for (std::size_t at = line_with(lines, anchors[i], 0); at < lines.size();) {
      std::size_t last = at;
      if (i < ends.size() && !ends[i].empty()) last = line_with(lines, ends[i], at + 1);
      if (last == lines.size())
        throw Cannot{
            fmt::format("{} has no line with `{}` below line {}: was it changed?", file, ends[i], at + 1)};
      if (out.accepted.empty()) first_line = without_indent(lines[at]);
      out.accepted.push_back(last == at ? fmt::format("{}", at + 1) : fmt::format("{}-{}", at + 1, last + 1));
      at = line_with(lines, anchors[i], last + 1);
    }
    if (line_with(lines, anchors[i], 0) == lines.size())
      throw Cannot{fmt::format("{} has no line with `{}`: was it changed?", file, anchors[i])};
  }
  if (out.accepted.empty()) wrong_question(input, "the rule line has no anchors", "the text of a line");
  out.figures = {{"line", out.accepted.front()}, {"code", first_line}};
  out.text = fmt::format("line {}: {}", out.accepted.front(), first_line);
  out.source = file;
  return out;
}

}  // namespace

Rule line_rule() {
  static constexpr std::array kinds = {AnswerKind::find};
  static constexpr std::array needs = {"anchors"};
  static constexpr std::array may = {"ends"};
  return {
      "line", "lines of the lesson's main.cpp that hold an anchor, each until the line that holds its end",
      kinds,  needs,
      may,    answered<line_truth>};
}

}  // namespace isobar
