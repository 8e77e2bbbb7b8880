#pragma once
// What is handed in: runs as one page that needs nothing beside it.
#include <filesystem>
#include <string>
#include <vector>

#include "analyse/run_case.h"
#include "course/progress.h"

namespace isobar {

struct ReportWish {
  std::string title = {};   ///< "" = "Isobar report" and its lessons
  std::string author = {};  ///< a name or an alias, "" = none
  bool maps = true;
};

/// All in it: runs, hardware and commands, settings that differ, comparisons with the first, the ladder where
/// lessons differ, curves, anatomy, formulas beside measurements, maps, and `answers` where there are some
/// (null: they are not wanted). Reads fields of the runs; what cannot be read is reported on the page.
std::string report_page(const std::vector<RunCase>& cases, const CourseProgress* answers,
                        const std::filesystem::path& home, const ReportWish& wish);

}  // namespace isobar
