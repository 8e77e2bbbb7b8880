#pragma once
// What `show RUN --memory` and `compare A B --memory` print: where the memory of a step goes.
#include <filesystem>
#include <vector>

#include "cli/report.h"
#include "core/named_file.h"
#include "plot/memory_picture.h"

namespace isobar {

/// The picture of one run or of several, a table of the categories at the peak, of one run beside what was
/// planned, of several beside the first; who takes most there, and the largest tensors that lived then.
Report memory_report(const std::vector<MemoryRun>& runs);

/// Prints it, as one JSON object where `json`; writes the picture into `svg` where that is named. Errors are
/// those of read_memory, and exit code 2 for a rank that the run does not have.
void show_memory(const std::filesystem::path& run, int rank, const NamedFile& svg, bool json);
void compare_memory(const std::vector<std::filesystem::path>& runs, const NamedFile& svg, bool json);

/// The .svg file of --svg, by the usual rules; Error (exit code 2) for another ending.
NamedFile named_svg(const std::string& path, bool replace);

}  // namespace isobar
