#include "exercise/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "launch/said.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostCommands_bytes = 64 << 20;
constexpr std::int64_t kMostSaid_bytes = 1 << 20;
constexpr std::int64_t kLongestCompile_us = 300'000'000;

/// A command of compile_commands.json, which quotes as a shell does.
std::vector<std::string> shell_words(const std::string& command) {
  std::vector<std::string> out;
  std::string word;
  bool begun = false;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
      word += command[++i];
      begun = true;
    } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? 0 : c;
      begun = true;
    } else if (c == ' ' && quote == 0) {
      if (begun) out.push_back(std::move(word));
      word.clear();
      begun = false;
    } else {
      word += c;
      begun = true;
    }
  }
  if (begun) out.push_back(word);
  return out;
}

/// How the build compiles the other half of the part, and where that lies.
struct OtherHalf {
  std::vector<std::string> words;  ///< without what is compiled, and into what
  std::string compiler;
  fs::path object;
};

OtherHalf other_half(const CompileSetting& setting) {
  const fs::path file = setting.build / "compile_commands.json";
  const Json all = Json::parse(read_text_file(file, kMostCommands_bytes));
  for (const Json& one : all.values()) {
    std::vector<std::string> words = shell_words(one.at("command").as_text());
    const auto output = std::find(words.begin(), words.end(), "-o");
    if (output == words.end() || output + 1 == words.end()) continue;
    if (("/" + *(output + 1)).find("/part_of_" + setting.program + ".dir/") == std::string::npos) continue;
    OtherHalf out;
    out.object = fs::path(one.at("directory").as_text()) / *(output + 1);
    const auto option = std::find_if(words.begin(), words.end(), [](const std::string& word) {
      return word.starts_with("-D") || word.starts_with("-I") || word.starts_with("-std") ||
             word.starts_with("-O");
    });
    out.compiler = option == words.begin() ? "" : *(option - 1);
    for (auto word = words.begin(); word != words.end(); ++word) {
      if (*word == "-o" || *word == "-c")
        ++word;
      else if (*word != "-Werror" && !word->ends_with("conversion"))
        out.words.push_back(*word);
    }
    return out;
  }
  throw Error("the build knows nothing of " + setting.program, file.string(), "./isobar setup", Exit::failed);
}

/// The path of a program that a command may name without one.
std::string with_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const std::string file = find_program(program);
  if (file.empty())
    throw Error("there is no " + program, "PATH", "./isobar doctor says what is missing", Exit::failed);
  return file;
}

Said run(std::vector<std::string> words) {
  words.front() = with_path(words.front());
  Said said = run_quietly(words, kLongestCompile_us, kMostSaid_bytes);
  if (said.asked != 0) throw Error("stopped", words.front(), "", Exit::failed);
  return said;
}

/// The name of `main` among what the object defines.
bool defines_main(const fs::path& object) {
  const Said said = run({"nm", "--defined-only", object.string()});
  return said.out.find(" T main\n") != std::string::npos;
}

}  // namespace

std::string known_as(const fs::path& source) {
  return (source.parent_path().filename() / source.filename()).string();
}

CompileProblem first_error(const std::string& said, const std::string& name) {
  CompileProblem out;
  std::istringstream text(said);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  const auto is_error = [](const std::string& line) {
    return line.find(" error: ") != std::string::npos;  // and "fatal error: "
  };
  const auto error = std::find_if(lines.begin(), lines.end(), is_error);
  if (error == lines.end()) {
    out.what =
        "it does not compile: " + printable(lines.empty() ? "the compiler says nothing" : lines.front(), 300);
    return out;
  }
  out.what = "it does not compile: " + printable(error->substr(error->find(" error: ") + 8), 300);
  // In a header, the lines around say which of the learner's led there.
  const std::regex place(name + R"(:(\d+)(?::(\d+))?)");
  for (auto line : {error, lines.begin()}) {
    for (std::smatch match; line != lines.end(); ++line) {
      if (!std::regex_search(*line, match, place)) continue;
      out.where = match.str();
      for (auto below = line + 1; below != lines.end() && out.lines.size() < 2; ++below) {
        if (below->find(" | ") == std::string::npos) break;
        out.lines.push_back(printable(*below, 200));
      }
      return out;
    }
  }
  return out;
}

std::optional<CompileProblem> forbidden_include(const std::string& text, const Exercise& exercise,
                                                const std::string& name) {
  const std::string own = exercise.lesson + "/exercise/exercise.h";
  static const std::regex include(R"(^\s*#\s*include\s*(["<])([^">]*)[">])");
  static const std::regex allowed(R"([a-z_0-9]+|(ATen|c10|torch)/.*)");
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::smatch match;
    if (!std::regex_search(line, match, include)) continue;
    const std::string header = match.str(2);
    if (match.str(1) == "\"" ? header == own : std::regex_match(header, allowed)) continue;
    return CompileProblem{
        fmt::format("it includes {}, which is no part of the exercise: \"{}\" and headers of the "
                    "language have all that it takes",
                    printable(header, 100), own),
        fmt::format("{}:{}", name, number),
        {printable(line, 200)}};
  }
  return std::nullopt;
}

std::optional<CompileProblem> compile_part(const CompileSetting& setting) {
  const std::string name = known_as(setting.source);
  const OtherHalf other = other_half(setting);
  const fs::path object = setting.library.string() + ".o";
  std::vector<std::string> words = other.words;
  words.insert(words.end(), {"-g1", "-fdiagnostics-color=never", "-fno-diagnostics-show-option", "-o",
                             object.string(), "-c", setting.source.string()});
  if (const Said said = run(words); said.code != 0) return first_error(said.errors, name);
  if (defines_main(object))
    return CompileProblem{
        "it defines main, and the check program has one already: the part is a library", name, {}};
  std::vector<std::string> link = {other.compiler,           "-shared",       "-o",
                                   setting.library.string(), object.string(), other.object.string()};
  for (const std::string& word : other.words)
    if (word.starts_with("-fsanitize")) link.push_back(word);
  if (const Said said = run(link); said.code != 0) {
    CompileProblem out = first_error(said.errors, name);
    out.what = "it cannot be linked: " + printable(said.errors.substr(0, said.errors.find('\n')), 300);
    return out;
  }
  return std::nullopt;
}

}  // namespace isobar
