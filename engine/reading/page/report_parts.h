#pragma once
// The sections of a report that are drawn; each is empty where there is nothing to draw.
#include <filesystem>
#include <string>
#include <vector>

#include "analyse/run_case.h"
#include "page/figures.h"

namespace isobar {

using ReportCases = std::vector<RunCase>;

/// Of more runs only what a table holds.
inline constexpr std::size_t kMostDrawnRuns = 8;

std::string curves_part(const ReportCases& cases, Figures& figures);
std::string anatomy_part(const ReportCases& cases, Figures& figures);
std::string maps_part(const ReportCases& cases, Figures& figures);

}  // namespace isobar
