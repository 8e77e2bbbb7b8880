#include "cli/words.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "core/error.h"
#include "core/text.h"

namespace isobar {

bool take_flag(std::vector<std::string>& words, const std::string& flag) {
  const auto found = std::find(words.begin(), words.end(), flag);
  if (found == words.end()) return false;
  words.erase(found);
  return true;
}

std::optional<std::string> take_value(std::vector<std::string>& words, const std::string& option,
                                      const std::string& command, const std::string& usage) {
  const auto found = std::find(words.begin(), words.end(), option);
  if (found == words.end()) return std::nullopt;
  if (found + 1 == words.end()) throw Error(option + " what?", command, usage);
  const std::string value = *(found + 1);
  words.erase(found, found + 2);
  return value;
}

void refuse_unknown(const std::vector<std::string>& words, const std::vector<std::string>& known,
                    const std::string& command, const std::string& usage) {
  for (const std::string& word : words) {
    if (word.rfind('-', 0) != 0) continue;
    const std::string option = word.substr(0, word.find('='));
    if (std::find(known.begin(), known.end(), option) != known.end()) continue;
    const std::string nearest = nearest_name(option, known);
    throw Error("unknown option " + printable(word, 40), command,
                nearest.empty() ? usage : "did you mean " + nearest + "?");
  }
}

bool can_ask() { return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1; }

bool agrees(const std::string& question) {
  std::printf("%s [y/N] ", question.c_str());
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace isobar
