#pragma once
// The picture of a lesson's idea, drawn from a run of that lesson.
#include <filesystem>
#include <string>

#include "draw/sketch.h"

namespace isobar {

struct OwnPicture {
  Drawing drawing;           ///< without a body where there is nothing to draw
  std::string nothing = {};  ///< why there is nothing to draw; "" = there is
  std::string hint = {};     ///< what to do then
};

/// Which picture it is depends on the run's lesson and on what the run recorded. Error (exit code 2) when the
/// folder holds no run. Reads the run's files: call it when they have changed, not for every frame.
OwnPicture own_picture(const std::filesystem::path& run);

}  // namespace isobar
