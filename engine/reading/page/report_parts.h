#pragma once
// The sections of a report; each is empty where it has nothing to say.
#include <filesystem>
#include <string>
#include <vector>

#include "analyse/run_case.h"
#include "analyse/run_comparison.h"
#include "course/progress.h"
#include "page/figures.h"

namespace isobar {

using ReportCases = std::vector<RunCase>;

/// "682.42", and "0.0022" of a step that is as short as that; "-" of none.
std::string milliseconds_text(double us);
/// Of more runs only what a table holds.
inline constexpr std::size_t kMostDrawnRuns = 8;

/// `found`: compare_with_first(cases).
std::string runs_part(const ReportCases& cases, const std::vector<RunComparison>& found);
std::string hardware_part(const ReportCases& cases);
std::string settings_part(const ReportCases& cases);
std::string compared_part(const ReportCases& cases, const std::vector<RunComparison>& found,
                          Figures& figures);
std::string ladder_part(const ReportCases& cases);
std::string curves_part(const ReportCases& cases, Figures& figures);
std::string anatomy_part(const ReportCases& cases, Figures& figures);
std::string formulas_part(const ReportCases& cases);
std::string maps_part(const ReportCases& cases, Figures& figures);
std::string answers_part(const CourseProgress& answers, const ReportCases& cases,
                         const std::filesystem::path& home);

}  // namespace isobar
