#pragma once
// Which presets a lesson can have, what each is, and whether it fits this machine.
#include <cstdint>
#include <string>
#include <vector>

#include "analyse/run_store.h"
#include "config/lesson.h"
#include "core/memory.h"

namespace isobar {

struct Project;

struct PresetFact {
  std::string name;
  std::int64_t parameters = 0;
  std::int64_t rows = 0, columns = 0;  ///< of the grid
  std::uint64_t bytes = 0;             ///< that all ranks take at their peak, by formula
  double predicted_us = 0;             ///< a step on this machine; 0 = not known
  bool fits = false;
  std::string why_not;  ///< of one that does not fit, or that this lesson refuses
};

/// The presets of the project as this lesson trains them, those that fit first, each group by size. Without a
/// GPU one fits when its memory does and its name says that it is meant for a processor ("cpu_tiny"); with
/// one all do, since what memory it has is known only to who loads CUDA.
std::vector<PresetFact> preset_facts(const Project& project, const LessonInfo& lesson,
                                     const MemoryState& memory);

/// Microseconds a step of the newest run of this lesson and preset that was measured here, without anything
/// that sets it apart, beside no other programs if there is one; 0 = there is none.
double measured_step_us(const StoreSnapshot& runs, const std::string& lesson, const std::string& preset);

}  // namespace isobar
