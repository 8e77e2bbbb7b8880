#include "check/source_place.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "core/symbol.h"

extern char** environ;

namespace isobar {
namespace {

/// The output of a program; "" where it cannot be started.
std::string said_by(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string out;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; (got = read(ends[0], piece.data(), piece.size())) > 0;)
    out.append(piece.data(), static_cast<std::size_t>(got));
  close(ends[0]);
  if (failed == 0) waitpid(pid, nullptr, 0);
  return failed == 0 ? out : "";
}

/// From addr2line -f -i: pairs of lines, function and "file:line" or "file:line (discriminator 2)".
std::vector<SourcePlace> parse_places(const std::string& text) {
  std::vector<SourcePlace> out;
  std::istringstream lines(text);
  std::string function;
  std::string place;
  while (std::getline(lines, function) && std::getline(lines, place)) {
    const std::size_t colon = place.rfind(':');
    SourcePlace one;
    if (function != "??") one.function = function;
    if (colon != std::string::npos && place.compare(0, 2, "??") != 0) {
      one.file = place.substr(0, colon);
      one.line = std::atoi(place.c_str() + colon + 1);
    }
    out.push_back(one);
  }
  return out;
}

std::vector<SourcePlace> places_of(void* address, std::uintptr_t part_begin, const std::string& part) {
  Dl_info info{};
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  std::string file = part;
  std::uintptr_t begin = part_begin;
  if (dladdr(address, &info) != 0 && info.dli_fname != nullptr) {
    file = info.dli_fname;
    begin = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  } else if (part_begin == 0 || number <= part_begin) {
    return {};
  }
  std::vector<SourcePlace> out = parse_places(
      said_by({"addr2line", "-C", "-f", "-i", "-e", file, fmt::format("{:#x}", number - begin - 1)}));
  if (out.empty()) out.emplace_back();
  // Where no line is known addr2line names the nearest function before the address, which may end before it.
  if (out.back().file.empty())
    out.back().function = info.dli_sname == nullptr ? "" : demangled(info.dli_sname);
  return out;
}

bool ends_in(const std::string& file, const std::string& source) {
  return !source.empty() && file.size() >= source.size() &&
         file.compare(file.size() - source.size(), source.size(), source) == 0;
}

/// What was found, from a line of a report; "" where it does not have that.
std::string found_in(const std::string& line) {
  const auto after = [&](const std::string& word) {
    const std::size_t at = line.find(word);
    return at == std::string::npos ? "" : line.substr(at + word.size());
  };
  if (const std::string leak = after("Direct leak of "); !leak.empty())
    return "leaked " + leak.substr(0, leak.find(" byte")) + " bytes";
  if (const std::string undefined = after("runtime error: "); !undefined.empty()) return undefined;
  for (const char* const tool : {"ERROR: AddressSanitizer: ", "WARNING: ThreadSanitizer: "}) {
    const std::string rest = after(tool);
    if (!rest.empty()) return rest.substr(0, std::min(rest.find(" on "), rest.find(" (")));
  }
  return "";
}

}  // namespace

std::vector<std::vector<SourcePlace>> source_places(const Calls& calls, const std::string& part) {
  std::vector<std::vector<SourcePlace>> out;
  for (void* const address : calls.addresses) out.push_back(places_of(address, calls.part, part));
  return out;
}

std::string place_in(const std::vector<std::vector<SourcePlace>>& calls, const std::string& source) {
  for (const auto& call : calls) {
    for (const SourcePlace& place : call)
      if (ends_in(place.file, source)) return fmt::format("{}:{}", source, place.line);
  }
  return "";
}

std::optional<SanitizerReport> sanitizer_report(const std::string& said, const std::string& source) {
  SanitizerReport out;
  std::istringstream lines(said);
  bool taken = false;  // the place of the stack that is read
  for (std::string line; std::getline(lines, line);) {
    if (out.found.empty()) out.found = found_in(line);
    const bool is_frame = line.compare(0, 5, "    #") == 0;
    if (!is_frame) taken = false;
    const std::size_t name = line.find(source + ":");
    if (name == std::string::npos || taken || source.empty()) continue;
    out.places.push_back(fmt::format("{}:{}", source, std::atoi(line.c_str() + name + source.size() + 1)));
    taken = is_frame;
  }
  if (out.found.empty()) return std::nullopt;
  return out;
}

}  // namespace isobar
