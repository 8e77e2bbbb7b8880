#include "run/check_needs.h"

#include <fmt/format.h>

#include "core/error.h"

namespace isobar {

void check_needs(const LessonInfo& lesson, c10::Device device) {
  if (lesson.needs != "cuda" || device.is_cuda()) return;
  throw Error(fmt::format("lesson {} needs a CUDA device, and this run is on {}", lesson.name, device.str()),
              "run.device",
              fmt::format("./isobar show {} --recorded opens a run of another machine", lesson.name));
}

}  // namespace isobar
