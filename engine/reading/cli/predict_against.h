#pragma once
// Predictions beside what others published, and on clusters that are not here.
#include <filesystem>
#include <string>
#include <vector>

#include "analyse/scaling.h"
#include "cli/report.h"
#include "config/lesson.h"
#include "config/load.h"
#include "core/named_file.h"
#include "draw/sketch.h"
#include "draw/svg_canvas.h"

namespace isobar {

/// What both of them take of the command line.
struct ClusterArguments {
  std::filesystem::path against;   ///< file of published points
  std::string clusters;            ///< profiles, with commas between them
  std::vector<std::string> terms;  ///< "jitter=0.03"
  std::string law = "weak";
  /// Where a picture goes; without a path there is none but the terminal's.
  NamedFile svg = {.path = {}, .option = "--svg", .kind = "picture", .mark = kSvgMark};
  bool json = false;

  bool wanted() const { return !against.empty() || !clusters.empty(); }
};

/// On the terminal below the tables, and into the file that was named.
void add_drawing(Report& out, const ClusterArguments& arguments, const Drawing& drawing);

/// Prints each point's error and the errors by class and split.
void predict_against(const ClusterArguments& arguments);

/// Prints the step of a lesson from one to so many ranks on one cluster or several.
void predict_clusters(const ClusterArguments& arguments, const LessonInfo& lesson, const Settings& settings,
                      int ranks, const std::string& command);

}  // namespace isobar
