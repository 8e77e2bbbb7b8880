#pragma once
#include <string>
#include <vector>

namespace isobar {

/// `quartet LESSON [options]`: runs it with one part at a time, in turn, and says what holds it back.
int quartet_command(const std::vector<std::string>& arguments);

}  // namespace isobar
