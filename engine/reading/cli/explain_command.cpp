// What words mean that programs print, and what happens where in the code of a lesson.
#include <fmt/format.h>

#include <algorithm>

#include "analyse/glossary.h"
#include "cli/ask_question.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "cli/shared_options.h"
#include "course/tour.h"

namespace isobar {

namespace {

Report terms_report(const std::vector<const Term*>& terms, std::size_t columns) {
  Report out;
  const Json all = json_list(terms, [](const Term* term) {
    return Json{{"term", term->name}, {"text", term->text}, {"also", term->also}, {"see", term->see}};
  });
  out.json = terms.size() == 1 ? all.at(0) : all;
  for (const Term* const term : terms) {
    out.line(term->name);
    std::vector<std::string> parts = {term->text};
    if (!term->also.empty()) parts.push_back("also: " + joined(term->also));
    if (!term->see.empty()) parts.push_back("see: " + joined(term->see));
    for (const std::string& part : parts) out.wrapped("", part, columns);
  }
  return out;
}

/// All of them, from top to bottom in as many columns as fit.
Report list_report(const Glossary& glossary, std::size_t columns) {
  Report out;
  std::vector<std::string> names;
  std::size_t width = 0;
  for (const Term& term : glossary) {
    names.push_back(term.name);
    width = std::max(width, term.name.size() + 2);
  }
  const std::size_t across = std::max<std::size_t>(1, (columns - 2) / width);
  const std::size_t rows = (names.size() + across - 1) / across;
  for (std::size_t row = 0; row < rows; ++row) {
    std::string line = "  ";
    for (std::size_t i = row; i < names.size(); i += rows)
      line += names[i] + std::string(i + rows < names.size() ? width - names[i].size() : 0, ' ');
    out.line(line);
  }
  out.line("./isobar explain WORD... prints what one means and how its figure is made");
  out.json = {{"terms", names}};
  return out;
}

}  // namespace

int explain_command(const Words& words) {
  Words asked;
  bool json = false;
  OptionParser app("What a word or unit that programs print means, and how its figure is made",
                   "./isobar explain");
  app.add("WORD", asked, "terms, such as MFU or peak memory; without one all are listed");
  app.flag("--json", json, "one JSON object instead of the text");
  if (!app.parse(words)) return 0;
  const Glossary glossary = read_glossary(project_home());
  const std::size_t columns = std::clamp<std::size_t>(terminal_columns(), 40, 100);
  const Report report =
      asked.empty() ? list_report(glossary, columns) : terms_report(find_terms(glossary, asked), columns);
  report.print(json);
  return 0;
}

namespace {

constexpr const char* kTour = "./isobar tour";
constexpr std::size_t kMostShownLines = 6;

/// A place that a question asks for is shown once the question was revealed.
bool is_held_back(const TourStop& stop, const CourseProgress& progress) {
  return !stop.question.empty() && progress.reveal(stop.question) == nullptr;
}

void add_stop(Report& out, const TourStop& stop, std::size_t number, const Learner& learner, bool held_back) {
  out.wrapped(fmt::format("{:>2}  ", number), stop.asks);
  Json json = ISOBAR_NAMED(stop.name, stop.asks, stop.question);
  if (held_back) {
    out.line(fmt::format("      you are asked to find it: ./isobar quiz {}", stop.question));
    json["held_back"] = true;
  } else {
    const TourPlace place = place_of(stop, learner.home);
    out.line(fmt::format("      {}:{}", stop.file, place.ranges.front().first));
    for (std::size_t i = 0; i < std::min(place.lines.size(), kMostShownLines); ++i)
      out.line("      | " + printable(place.lines[i], 110));
    if (place.lines.size() > kMostShownLines) out.line("      | ...");
    out.wrapped("      ", stop.says);
    json["says"] = stop.says;
    json["file"] = stop.file;
    json["line"] = place.ranges.front().first;
    json["last_line"] = place.ranges.front().last;
  }
  out.json["stops"].push_back(json);
}

}  // namespace

int tour_command(const Words& words) {
  std::string name, wanted;
  bool json = false;
  OptionParser app(
      "A walk through the code of a lesson: what happens where, with file and line. Places that a "
      "question asks for are shown once it was answered",
      kTour);
  app.add("LESSON", name, "its number or name, such as 06");
  app.add("STOP", wanted, "the name or number of one stop; without it all of them");
  app.flag("--json", json, "one JSON object instead of the text");
  if (!app.parse(words, {.where = kTour, .example = "06"})) return 0;
  const LessonInfo lesson = named_lesson(name, "./isobar tour LESSON");
  const Learner learner = this_learner();
  const std::vector<TourStop> stops = read_tour(learner.home, lesson.name);
  if (stops.empty())
    throw Error("lesson " + lesson.name + " has no tour", kTour, "./isobar learn lists the lessons");
  if (!wanted.empty() && wanted.find_first_not_of("0123456789") != std::string::npos)
    find_stop(learner.home, lesson.name, wanted);
  const CourseProgress progress = read_progress(learner.progress);
  Report out;
  out.json["lesson"] = lesson.name;
  out.json["stops"] = Json::array();
  out.line(lesson.name + "  " + lesson.title);
  for (std::size_t i = 0; i < stops.size(); ++i) {
    const bool is_wanted = wanted.empty() || wanted == stops[i].name || wanted == std::to_string(i + 1);
    if (is_wanted) add_stop(out, stops[i], i + 1, learner, is_held_back(stops[i], progress));
  }
  if (out.json.at("stops").empty())
    throw Error(fmt::format("the tour of {} has {}", lesson.name,
                            counted(static_cast<std::int64_t>(stops.size()), "stop")),
                kTour, "without a number all of them are shown");
  out.print(json);
  return 0;
}

}  // namespace isobar
