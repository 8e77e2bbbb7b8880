#pragma once
// Options of small commands, taken out of the words that were typed, and questions.
#include <optional>
#include <string>
#include <vector>

namespace isobar {

/// Takes `flag` out of `words`; false when it is not there.
bool take_flag(std::vector<std::string>& words, const std::string& flag);

/// Takes "OPTION VALUE" out of `words`, where it is. An option without its value is an Error (exit code 2) of
/// `command` ("./isobar show") with `usage`.
std::optional<std::string> take_value(std::vector<std::string>& words, const std::string& option,
                                      const std::string& command, const std::string& usage);

/// Whether a person sits in front of it.
bool can_ask();
/// Asks that person; false for anything but yes.
bool agrees(const std::string& question);

/// Refuses words that look like an option and are none of `known` (Error, exit code 2, with the nearest).
void refuse_unknown(const std::vector<std::string>& words, const std::vector<std::string>& known,
                    const std::string& command, const std::string& usage);

}  // namespace isobar
