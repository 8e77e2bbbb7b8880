#pragma once
// Lessons 02 and 03 with several numbers of threads, for tests that hold for all of them.
#include <string>
#include <vector>

#include "lessons/resumed_run.h"
#include "support/says.h"

namespace isobar {

struct LoaderLesson {
  std::string lesson;
  std::vector<std::string> sets;

  ProcessResult train(const fs::path& run, const std::vector<std::string>& more,
                      const ProcessOptions& options = {}) const {
    return train_lesson(lesson, run, with(sets, more), options);
  }
};

inline const std::vector<LoaderLesson> kLoaderLessons = {{"02_workers", {"data.workers=2"}},
                                                         {"02_workers", {"data.workers=4"}},
                                                         {"03_gpu_loader", {"data.workers=2"}}};

}  // namespace isobar
