#pragma once
// What nccl-tests prints (all_reduce_perf and its kin, editions of 2019 to 2026), and the Markdown table of
// all_reduce_bench.py of stas00/ml-engineering. Bandwidths are GB/s (10^9 bytes), times microseconds.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "record/left_out.h"

namespace isobar {

/// The out-of-place half of a row of the table.
struct NcclRow {
  double bytes = 0;
  double us = 0;
  double gb_s = 0;  ///< bus bandwidth
};

/// One program's run: one collective over one set of ranks.
struct NcclTest {
  std::string op;          ///< "all_reduce", "all_gather", "reduce_scatter", "alltoall" or "sendrecv"
  std::string gpu;         ///< name in the lines of the devices; "" = there is no such line
  std::int64_t ranks = 0;  ///< without these lines by the ratio of the bandwidths; 0 = not known
  std::int64_t ranks_per_host = 0;  ///< 0 = not known, or hosts differ
  bool is_cut = false;              ///< the line of the average, its last, is missing
  std::size_t line = 0;             ///< where it begins
  std::size_t last_line = 0;
  std::vector<NcclRow> rows;  ///< in the order of the log
};

struct NcclLog {
  std::string name;
  std::vector<NcclTest> tests;  ///< at least one, each with a row
  LeftOut left_out;             ///< rows, and tests without a row or of other collectives
};

/// Whether the beginning of a text looks like such an output.
bool looks_like_nccl_tests(std::string_view begin);

/// Lines of other programs, of NCCL_DEBUG too, are passed over, and what mpirun and srun put before a line. A
/// row is left out, which is counted, where it is broken, has wrong elements, or has bandwidths that its size
/// and time contradict by more than 2 %. A test that is cut keeps its whole rows where there are three.
/// Error (exit code 2, FILE:LINE) where no test has a row, for ranks that ran each alone (no MPI), are split
/// into groups or have different GPUs, times of the CPU, more than 5,000 rows, and less than three before a
/// cut.
NcclLog parse_nccl_tests(std::string_view text, const std::string& name);

/// At most 64 MiB.
NcclLog read_nccl_tests(const std::filesystem::path& file);

/// The file itself where it is such an output, or those directly in the folder, by name.
std::vector<std::filesystem::path> find_nccl_tests(const std::filesystem::path& place);

}  // namespace isobar
