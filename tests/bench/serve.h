#pragma once
// A worker's side of the talk with a bench (worker.h).
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace isobar {

inline constexpr int kAnswers =
    3;  ///< descriptor of a worker's answers; what it prints stays apart from them

using Command = std::function<nlohmann::ordered_json(const std::vector<std::string>& words)>;

/// Says {"ready": true}, then answers each line `name words...` of standard input by one line of JSON, until
/// the input ends. A command that is not there is an Error.
void serve(const std::map<std::string, Command>& commands);

}  // namespace isobar
