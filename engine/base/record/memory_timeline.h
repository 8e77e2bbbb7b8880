#pragma once
// What the memory of a rank held through one step, by category. It lies in `memory-NNNN.jsonl` of the run
// folder: a line that describes it, one for each stage, each moment and each large tensor of the peak.
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

/// `program` is what the process holds beside its tensors: libraries, their pools, gaps of the heap.
enum class MemoryCategory : std::uint8_t {
  weights,
  gradients,
  moments,
  activations,
  communication,
  workspace,
  batches,
  program
};
inline constexpr std::array<const char*, 8> kMemoryCategories = {
    "weights", "gradients", "moments", "activations", "communication", "workspace", "batches", "program"};
/// All of them but the program change within a step.
inline constexpr std::size_t kHeldCategories = 7;

constexpr const char* name_of(MemoryCategory category) {
  return kMemoryCategories[static_cast<std::size_t>(category)];
}
std::optional<MemoryCategory> memory_category(std::string_view name);

/// One entry of a stage; it may be entered several times in a step.
struct MemoryStage {
  std::string name;           ///< a name of core/stage.h
  std::int64_t begin_us = 0;  ///< since the step began, on the host's clock
  std::int64_t end_us = 0;
};

/// What was held from here to the next moment.
struct MemoryMoment {
  std::int64_t at_us = 0;  ///< since the step began, on the host's clock
  std::array<std::uint64_t, kHeldCategories> bytes = {};
  std::vector<std::uint64_t> activations = {};  ///< one for each of MemoryTimeline::owners

  std::uint64_t of(MemoryCategory category) const { return bytes[static_cast<std::size_t>(category)]; }
  std::uint64_t total() const;  ///< without the program
};

/// A tensor that lived at the peak.
struct MemoryTensor {
  std::uint64_t bytes = 0;
  MemoryCategory category = MemoryCategory::workspace;
  std::string module = {};  ///< module that made it, "blocks.3.attn"; "" = none, or made before the step
  std::string stage = {};   ///< stage that made it; "" = made before the step
};

struct MemoryTimeline {
  int rank = 0;
  std::int64_t attempt = 0;
  std::int64_t step = 0;           ///< from 0
  std::string device = {};         ///< "cpu", "cuda:0"
  std::int64_t micro_batches = 1;  ///< forward passes of the step
  std::int64_t step_us = 0;
  std::int64_t allocations = 0;            ///< blocks that the step took
  std::uint64_t program_bytes = 0;         ///< beside all moments
  std::string peak_stage = {};             ///< stage in which the peak was reached
  std::string peak_module = {};            ///< module in which it was; "" = in none
  std::vector<std::string> owners = {};    ///< whose activations are counted apart: "embed", "blocks.0"
  std::vector<MemoryStage> stages = {};    ///< in the order of time
  std::vector<MemoryMoment> moments = {};  ///< in the order of time, thinned; never empty once read
  std::vector<MemoryTensor> largest = {};  ///< those that lived at the peak, the largest first

  /// Where most bytes were held, the first of several.
  const MemoryMoment& peak() const;
  std::uint64_t peak_bytes() const { return peak().total(); }  ///< without the program
  /// The most that activations of all blocks took at a moment, without those of the ends of the model.
  std::uint64_t most_block_bytes() const;
  /// Who takes most at the peak: "activations", or another category.
  MemoryCategory peak_owner() const;
};

/// The most moments that a file is to have, unless more stages end than that.
inline constexpr std::size_t kMostMoments = 400;
inline constexpr std::size_t kMostPeakTensors = 12;

/// Leaves out moments so that at most `most` remain, and more only where more stages begin and end: the
/// first, the last, the highest, the last in front of each end of a stage and the highest of each stage stay,
/// and of the stretches between them the highest and the last.
void thin_moments(MemoryTimeline& timeline, std::size_t most = kMostMoments);

/// The lines of the file.
std::string memory_text(const MemoryTimeline& timeline);

/// Reads what memory_text wrote; unknown kinds and keys are ignored. Error (exit code 2) that names `where`
/// and the line for another schema, a line that is no event, values that make no sense, and a text that is
/// cut short.
MemoryTimeline parse_memory(std::string_view text, const std::string& where);

/// The timeline of a rank of the run in `folder`. Error (exit code 2) with what records one where there is
/// none.
MemoryTimeline read_memory(const std::filesystem::path& folder, int rank = 0);
bool has_memory(const std::filesystem::path& folder, int rank = 0);

}  // namespace isobar
