#pragma once
#include <string>
#include <vector>

namespace isobar {

/// `record LESSON [--as NAME] [--replace] [--preset P] [--config FILE] [--set key=value]`: trains the lesson
/// on the GPU that is here and keeps a small recorded run of it in
/// lessons/LESSON/recorded/DEVICE-DAY[-NAME]/. `record LESSON --from RUN` makes one of a run that is there,
/// whatever its device.
int record_command(const std::vector<std::string>& arguments);

}  // namespace isobar
