#pragma once
// The sections of a report that are drawn; each is empty where there is nothing to draw.
#include <filesystem>
#include <string>
#include <vector>

#include "analyse/run_case.h"
#include "page/figures.h"

namespace isobar {

using ReportCases = std::vector<RunCase>;

/// "682.42", and "0.0022" of a step that is as short as that; "-" of none.
std::string milliseconds_text(double us);
/// Of more runs only what a table holds.
inline constexpr std::size_t kMostDrawnRuns = 8;

std::string curves_part(const ReportCases& cases, Figures& figures);
std::string anatomy_part(const ReportCases& cases, Figures& figures);
std::string maps_part(const ReportCases& cases, Figures& figures);

}  // namespace isobar
