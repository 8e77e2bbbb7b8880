#pragma once
// What settings take of memory: the plan and the step of a rank, what would fit under a cap, and every way to
// train the batch by speed.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "formula/machine_rates.h"
#include "formula/memory_course.h"
#include "plot/front_picture.h"

namespace isobar {

struct MemoryAsk {
  std::filesystem::path home;
  std::string lesson;
  std::string preset;
  std::vector<std::string> sets;
  bool on_gpu = false;                                  ///< one GPU a rank instead of the processors here
  std::shared_ptr<const MachineRates> rates = nullptr;  ///< null = not measured

  bool operator==(const MemoryAsk&) const = default;
};

struct PlayedMemory {
  std::string problem;  ///< why nothing is planned; "" = it is
  Config config;
  MemoryPlan plan;
  MemoryTimeline course;
  std::uint64_t limit_bytes = 0;  ///< run.memory_cap; 0 = none
  std::vector<MemoryWay> fits;    ///< ways below the limit where it is passed, the cheapest first

  bool is_known() const { return problem.empty(); }
  bool is_within() const { return limit_bytes == 0 || plan.total() <= limit_bytes; }
};

/// The step takes its times from the rates of this machine, or of an H200; where none are known units take
/// time by their operations.
PlayedMemory play_memory(const MemoryAsk& ask, const LessonInfo& lesson);

/// The front of a question, with runs of this machine in runs/.
struct FrontAnswer {
  MemoryAsk of;
  std::string problem;  ///< why there is none; "" = there is
  MemoryFront front;
};
FrontAnswer answer_front(const MemoryAsk& ask, const LessonInfo& lesson);

}  // namespace isobar
