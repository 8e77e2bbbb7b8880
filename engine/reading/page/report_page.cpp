#include "page/report_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/clock.h"
#include "core/text.h"
#include "page/html.h"
#include "page/page_style.h"
#include "page/report_parts.h"

namespace isobar {

namespace {

/// "Isobar report: 01_baseline, 02_workers", as who has forty of them finds one.
std::string title_of(const std::vector<RunCase>& cases) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> lessons;
  for (const RunCase& one : cases) {
    const std::string lesson = printable(one.view().lesson, 40);
    if (!lesson.empty() && std::find(lessons.begin(), lessons.end(), lesson) == lessons.end())
      lessons.push_back(lesson);
  }
  const bool more = lessons.size() > kMost;
  if (more) lessons.resize(kMost);
  return "Isobar report" + (lessons.empty() ? "" : ": " + joined(lessons)) + (more ? ", ..." : "");
}

}  // namespace

std::string report_page(const std::vector<RunCase>& cases, const CourseProgress* answers,
                        const std::filesystem::path& home, const ReportWish& wish) {
  Html body;
  std::vector<HtmlLink> contents;
  const auto add = [&](const char* id, const char* title, const std::string& markup) {
    if (markup.empty()) return;
    contents.push_back({id, title});
    body.begin_section(id, title);
    body.raw(markup);
    body.end_section();
  };
  const std::string by = wish.author.empty() ? "" : " by " + wish.author;
  body.paragraph(fmt::format("{}{}, made {}", counted(static_cast<std::int64_t>(cases.size()), "run"), by,
                             minute_text(wall_iso())),
                 "dim");
  Figures figures;
  const std::vector<RunComparison> found = compare_with_first(cases);
  add("runs", "Runs", runs_part(cases, found));
  add("compared", "Compared", compared_part(cases, found, figures));
  add("ladder", "Ladder", ladder_part(cases));
  add("curves", "Curves", curves_part(cases, figures));
  add("anatomy", "Where a step's time goes", anatomy_part(cases, figures));
  add("formulas", "By formula, and measured", formulas_part(cases));
  if (answers != nullptr) add("answers", "Questions and answers", answers_part(*answers, cases, home));
  if (wish.maps) add("maps", "Maps", maps_part(cases, figures));
  add("settings", "Settings that differ", settings_part(cases));
  add("hardware", "Hardware and commands", hardware_part(cases));
  return html_document(wish.title.empty() ? title_of(cases) : wish.title, page_style(), contents,
                       body.markup());
}

}  // namespace isobar
