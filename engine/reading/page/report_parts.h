#pragma once
// The sections of a report that are drawn; each is empty where there is nothing to draw.
#include <string>
#include <vector>

#include "analyse/run_case.h"
#include "page/figures.h"

namespace isobar {

using ReportCases = std::vector<RunCase>;

/// The most runs that are drawn; the others stand in tables only.
inline constexpr std::size_t kMostDrawnRuns = 8;

std::string curves_part(const ReportCases& cases, Figures& figures);
std::string anatomy_part(const ReportCases& cases, Figures& figures);
std::string maps_part(const ReportCases& cases, Figures& figures);

}  // namespace isobar
