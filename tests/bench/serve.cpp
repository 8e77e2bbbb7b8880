#include "bench/serve.h"

#include <iostream>
#include <sstream>

#include "core/error.h"
#include "core/files.h"

namespace isobar {

void serve(const std::map<std::string, Command>& commands) {
  const FileDescriptor answers(kAnswers);
  const auto say = [&](const nlohmann::ordered_json& answer) {
    const std::string line = answer.dump() + "\n";
    write_fully(answers, "the bench", std::as_bytes(std::span(line)));
  };
  say({{"ready", true}});
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream text(line);
    std::string name;
    text >> name;
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    const auto command = commands.find(name);
    if (command == commands.end()) throw Error("there is no such command", name, "", Exit::failed);
    say(command->second(words));
  }
}

}  // namespace isobar
