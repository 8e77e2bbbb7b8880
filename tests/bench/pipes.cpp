#include "bench/pipes.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <thread>

#include "core/argv.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"

extern char** environ;

namespace isobar {
namespace {

constexpr std::uint64_t kLongestLog_bytes = 16 << 20;

}  // namespace

std::pair<FileDescriptor, FileDescriptor> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw system_error("cannot make a pipe", "bench", errno);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

pid_t start_program(std::vector<std::string> words, std::vector<std::string> environment,
                    posix_spawn_file_actions_t& files) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& other : environment) replaced = replaced || other.rfind(name, 0) == 0;
    if (!replaced) environment.push_back(text);
  }
  pid_t pid = 0;
  const int number = posix_spawnp(&pid, words.front().c_str(), &files, nullptr, as_argv(words).data(),
                                  as_argv(environment).data());
  posix_spawn_file_actions_destroy(&files);
  if (number != 0) throw system_error("cannot start the program", words.front(), number);
  return pid;
}

int wait_for_end(pid_t pid, int deadline_s) {
  const std::int64_t due_us = steady_us() + std::int64_t{deadline_s} * 1'000'000;
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (steady_us() > due_us) kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::optional<std::string> LineReader::next(std::int64_t due_us) {
  while (heard_.find('\n') == std::string::npos) {
    const std::int64_t left_us = due_us - steady_us();
    if (left_us <= 0) return std::nullopt;
    pollfd wait{file_.number(), POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(left_us / 1000) + 1);
    if (ready < 0 && errno != EINTR) throw system_error("cannot wait for a program", "bench", errno);
    if (ready <= 0) continue;
    std::array<char, 65536> bytes{};
    const ssize_t count = read(file_.number(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    heard_.append(bytes.data(), static_cast<std::size_t>(count));
  }
  const std::size_t end = heard_.find('\n');
  std::string line = heard_.substr(0, end);
  heard_.erase(0, end + 1);
  return line;
}

std::string last_words(const std::filesystem::path& log) {
  std::error_code code;
  if (!std::filesystem::exists(log, code) || std::filesystem::file_size(log, code) == 0) return "nothing";
  std::istringstream text(read_text_file(log, kLongestLog_bytes));
  std::string last;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && (last.empty() || line.front() != ' ')) last = line;
  }
  return printable(last, 300);
}

}  // namespace isobar
