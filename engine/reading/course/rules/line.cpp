// Where in a page something stands.
#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "course/page_section.h"
#include "course/rules/all.h"
#include "course/rules/parts.h"
#include "course/tour.h"

namespace isobar {
namespace {

std::string without_indent(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : line.substr(begin);
}

}  // namespace

Truth line_truth(const RuleInput& input) {
  std::string file = fmt::format("lessons/{}/main.cpp", input.question.lesson);
  std::vector<std::string> anchors = input.arguments("anchors"), ends = input.arguments("ends");
  if (const std::string name = input.argument("stop"); !name.empty()) {
    const TourStop stop = find_stop(input.home, input.question.lesson, name);
    file = stop.file;
    anchors = stop.anchors;
    ends = stop.ends;
  }
  if (anchors.empty())
    wrong_question(input, "the rule line has no anchors", "the text of a line, or a stop of the tour");
  if (ends.size() > anchors.size())
    wrong_question(input, "the rule line has more ends than anchors", "each end belongs to an anchor");
  std::string text;
  try {
    text = read_text_file(input.home / file, kMostPageBytes);
  } catch (const Error& error) {
    throw Cannot{fmt::format("{} cannot be read: {}", file, error.what())};
  }
  Truth out;
  try {
    const std::vector<LineRange> ranges = find_lines(text, anchors, ends, file);
    for (const auto& [first, last] : ranges)
      out.accepted.push_back(last == first ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
    const auto line = static_cast<std::size_t>(ranges.front().first - 1);
    out.figures = {{"line", out.accepted.front()}, {"code", without_indent(split(text, '\n')[line])}};
  } catch (const Error& error) {
    throw Cannot{error.what()};
  }
  out.text = fmt::format("line {}: {}", out.figures.at("line"), out.figures.at("code"));
  out.source = file;
  return out;
}

}  // namespace isobar
