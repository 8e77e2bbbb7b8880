#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/pattern.h"
#include "core/text.h"
#include "exercise/verdict.h"
#include "launch/captured_run.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostCommands_bytes = 64 << 20;
constexpr std::int64_t kMostSaid_bytes = 1 << 20;
constexpr std::int64_t kLongestCompile_us = 300'000'000;

/// A command of compile_commands.json, which quotes as a shell does, or a rule of make.
std::vector<std::string> shell_words(const std::string& command) {
  std::vector<std::string> out;
  std::string word;
  bool begun = false;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
      if (command[++i] == '\n') continue;
      word += command[i];
      begun = true;
    } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? 0 : c;
      begun = true;
    } else if ((c == ' ' || c == '\n') && quote == 0) {
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

/// The options stand in cmake/IsobarTargets.cmake.
const char* options_of(Watch watch) {
  switch (watch) {
    case Watch::address:
      return ISOBAR_WATCH_ADDRESS;
    case Watch::threads:
      return ISOBAR_WATCH_THREAD;
    default:
      return ISOBAR_WATCH_PLAIN;
  }
}

/// How the build compiles the other half of the part, and where that lies.
struct OtherHalf {
  std::vector<std::string> words;  ///< without what is compiled, and into what; with those of the watch
  std::string compiler;
  fs::path object;
};

OtherHalf other_half(const CompileSetting& setting) {
  const fs::path file = setting.build / "compile_commands.json";
  const Json all = Json::parse(read_text_file(file, kMostCommands_bytes));
  for (const Json& one : all.values()) {
    std::vector<std::string> words = shell_words(one.at("command").as_text());
    const auto output = std::ranges::find(words, "-o");
    if (output == words.end() || output + 1 == words.end()) continue;
    if (("/" + *(output + 1)).find("/part_of_" + setting.lesson + ".dir/") == std::string::npos) continue;
    OtherHalf out;
    out.object = fs::path(one.at("directory").as_text()) / *(output + 1);
    const auto option = std::ranges::find_if(words, [](const std::string& word) {
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
    const std::vector<std::string> watch = shell_words(options_of(setting.watch));
    out.words.insert(out.words.end(), watch.begin(), watch.end());
    return out;
  }
  throw Error("the build has no part of " + setting.lesson, file.string(), "./isobar setup", Exit::failed);
}

/// The path of a program that a command may name without one.
std::string with_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const std::string file = find_program(program);
  if (file.empty())
    throw Error("there is no " + program, "PATH", "./isobar doctor lists what is missing", Exit::failed);
  return file;
}

CapturedRun run(std::vector<std::string> words) {
  words.front() = with_path(words.front());
  CapturedRun said = run_quietly(words, kLongestCompile_us, kMostSaid_bytes);
  if (said.asked != 0) throw Error("stopped", words.front(), "", Exit::failed);
  return said;
}

CapturedRun run_compiler(const std::vector<std::string>& words, const CompileSetting& setting) {
  CapturedRun said = run(words);
  const std::string problem = said.code == 0 ? "" : machine_problem(said.errors);
  if (problem.empty()) return said;
  throw Error("your part cannot be compiled on this machine: " + printable(problem, 300),
              setting.library.parent_path().parent_path().string(),
              "the compiler needs room there, and TMPDIR=FOLDER takes another folder; ./isobar doctor "
              "reports what is missing",
              Exit::failed);
}

/// "my/02_x.cpp:41:12" of a line that names such a place; "" for another.
std::string place_in(const std::string& line, const std::string& name) {
  const auto digits = [&](std::size_t at) {
    return std::min(line.find_first_not_of("0123456789", at), line.size()) - at;
  };
  for (std::size_t at = line.find(name + ":"); at != std::string::npos; at = line.find(name + ":", at + 1)) {
    std::size_t end = at + name.size() + 1;
    const std::size_t row = digits(end);
    if (row == 0) continue;
    end += row;
    if (const std::size_t column = end < line.size() && line[end] == ':' ? digits(end + 1) : 0; column > 0)
      end += 1 + column;
    return line.substr(at, end - at);
  }
  return "";
}

/// Whether a rule of make, as a compiler writes it, names the file.
bool depends_on(const std::string& rule, const fs::path& file) {
  std::error_code code;
  return std::ranges::any_of(shell_words(rule),
                             [&](const std::string& name) { return fs::equivalent(name, file, code); });
}

/// Takes out of a folder what is made there: parts, and working folders with whatever a part put into them.
void remove_parts(const fs::path& folder) {
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    const bool is_folder = entry->symlink_status(code).type() == fs::file_type::directory;
    const bool is_part = name.ends_with(".so") || name.ends_with(".o") || name.ends_with(".d");
    std::error_code kept;
    if (is_folder ? name.starts_with("work-") : is_part) fs::remove_all(entry->path(), kept);
  }
}

/// The name of `main` among what the object defines.
bool defines_main(const fs::path& object) {
  const CapturedRun said = run({"nm", "--defined-only", object.string()});
  return said.out.find(" T main\n") != std::string::npos;
}

}  // namespace

PartFolder::PartFolder() : folder_(remove_parts) {
  struct statvfs place {};
  if (statvfs(path().c_str(), &place) == 0 && (place.f_flag & ST_NOEXEC) != 0)
    refuse_place(
        "nothing can be loaded from the folder for temporary files: its file system is mounted noexec",
        path());
}

void refuse_place(const std::string& what, const fs::path& folder) {
  throw Error(what, folder.parent_path().string(),
              "TMPDIR=FOLDER takes another folder for temporary files, from which programs can be loaded",
              Exit::failed);
}

std::string known_as(const fs::path& source) {
  return (source.parent_path().filename() / source.filename()).string();
}

std::string machine_problem(const std::string& said) {
  static const std::vector<std::string> signs = {
      std::strerror(ENOSPC),      std::strerror(EDQUOT), std::strerror(EROFS),
      std::strerror(EIO),         std::strerror(ENOMEM), "out of memory",
      "virtual memory exhausted", "Killed signal",       "cannot execute",
      "unable to execute",        "cannot find 'ld'",    "Cannot create temporary file"};
  for (const std::string& line : split(said, '\n')) {
    if (line.find(" | ") != std::string::npos) continue;  // the learner's
    for (const std::string& sign : signs)
      if (line.find(sign) != std::string::npos) return line;
  }
  return "";
}

CompileProblem first_error(const std::string& said, const std::string& name) {
  CompileProblem out;
  const std::vector<std::string> lines = split(said, '\n');
  const auto is_error = [](const std::string& line) {
    return line.find(" error: ") != std::string::npos;  // and "fatal error: "
  };
  const auto error = std::ranges::find_if(lines, is_error);
  if (error == lines.end()) {
    out.what = "it does not compile: " +
               printable(said.empty() ? "the compiler prints nothing" : lines.front(), 300);
    return out;
  }
  out.what = "it does not compile: " + printable(error->substr(error->find(" error: ") + 8), 300);
  // In a header, the lines around name the learner's line that led there.
  for (auto line : {error, lines.begin()}) {
    for (; line != lines.end(); ++line) {
      out.where = place_in(*line, name);
      if (out.where.empty()) continue;
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
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto found = matches_of(line, R"(^\s*#\s*include\s*(["<])([^">]*)[">])");
    if (found.empty()) continue;
    const std::string& header = found.front()[2];
    const bool is_ours = found.front()[1] == "\"";
    if (is_ours ? header == own : !matches_of(header, "^([a-z_0-9]+|(ATen|c10|torch)/.*)$").empty()) continue;
    return CompileProblem{fmt::format("it includes {}, which is no part of the exercise: \"{}\" and headers "
                                      "of the language have all that it takes",
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
  const fs::path rule = setting.library.string() + ".d";
  words.insert(words.end(),
               {"-MD", "-MF", rule.string(), "-fdiagnostics-color=never", "-fno-diagnostics-show-option",
                "-o", object.string(), "-c", setting.source.string()});
  const CapturedRun compiled = run_compiler(words, setting);
  const bool cheats =
      compiled.code == 0 && depends_on(read_text_file(rule, kMostCommands_bytes), setting.solution);
  fs::remove(rule);
  if (compiled.code != 0) return first_error(compiled.errors, name);
  if (cheats) return CompileProblem{"it includes the solution, which is no part of the exercise", name, {}};
  if (defines_main(object))
    return CompileProblem{
        "it defines main, and the check program has one already: the part is a library", name, {}};
  std::vector<std::string> link = {other.compiler,           "-shared",       "-o",
                                   setting.library.string(), object.string(), other.object.string()};
  for (const std::string& word : other.words)
    if (word.starts_with("-fsanitize")) link.push_back(word);
  if (const CapturedRun said = run_compiler(link, setting); said.code != 0) {
    CompileProblem out = first_error(said.errors, name);
    out.what = "it cannot be linked: " + printable_line(said.errors, 300);
    return out;
  }
  return std::nullopt;
}

}  // namespace isobar
