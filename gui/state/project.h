#pragma once
// The project as the window reads it: lessons, presets, keys.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "analyse/recorded_runs.h"
#include "config/lesson.h"
#include "text/cpp_colours.h"
#include "text/lesson_page.h"

namespace isobar {

struct LessonCard {
  LessonInfo info;
  std::string number;       ///< "01"
  std::string short_title;  ///< "Baseline"
  LessonPage readme;
  std::vector<MarkdownBlock> reveal_rest;  ///< the parts of reveal.md that are of no question
  std::string page;                        ///< main.cpp
  CodePage code;                           ///< its page, against that of the previous lesson, where one is
  std::string cannot_run;                  ///< why this machine cannot run it; "" = it can
  std::vector<RecordedRun>
      recorded;  ///< runs to look at instead, the best first; of a lesson that it can run none
};

struct Project {
  std::filesystem::path home;
  std::string device_kind = "cpu";  ///< device of a run when none is named
  std::vector<LessonCard> lessons;
  std::vector<std::string> presets;
  std::map<std::string, std::string> comments;  ///< key -> its meaning
  std::vector<std::string> problems;            ///< lessons that cannot be read, and why

  const LessonCard* find(const std::string& name) const;
};

/// Never throws for a broken lesson: it is left out and named in `problems`.
Project read_project(const std::filesystem::path& home);

}  // namespace isobar
