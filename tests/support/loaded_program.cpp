#include "support/loaded_program.h"

#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "core/argv.h"

extern char** environ;

namespace isobar {

LoadedProgram::LoadedProgram(const std::string& program, const std::string& preloaded)
    : program_(program), preloaded_(preloaded) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::runtime_error("no pair of sockets");
  socket_ = ends[0];
  const int size = 1 << 20;
  setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  const int theirs = dup(ends[1]);  // which a new program keeps
  std::vector<std::string> words = {program};
  std::vector<std::string> environment = {"LD_PRELOAD=" + preloaded,
                                          "ISOBAR_FORKS_ON=" + std::to_string(theirs)};
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  const int error = posix_spawn(&stands_, program.c_str(), nullptr, nullptr, as_argv(words).data(),
                                as_argv(environment).data());
  close(ends[1]);
  close(theirs);
  if (error != 0) throw std::runtime_error("cannot start " + program);
}

LoadedProgram::~LoadedProgram() {
  close(socket_);
  kill(stands_, SIGKILL);
  waitpid(stands_, nullptr, 0);
}

pid_t LoadedProgram::start(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                           const std::filesystem::path& folder, const std::string& out,
                           const std::string& err) {
  std::string message;
  const auto add = [&](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) (message += '+').append(text).push_back('\0');
    message += '\0';
  };
  const bool launches = words.front() != program_;
  add(launches ? std::vector{folder.string(), out, err, words.front()}
               : std::vector{folder.string(), out, err});
  add(words);
  std::vector<std::string> all = environment;
  if (launches) all.insert(all.begin(), {"LD_PRELOAD=" + preloaded_, "ISOBAR_FORKS_OF=" + program_});
  add(all);
  pid_t process = 0;
  if (send(socket_, message.data(), message.size(), MSG_NOSIGNAL) < 0 ||
      recv(socket_, &process, sizeof process, 0) != sizeof process)
    throw std::runtime_error("cannot start " + words.front());
  return process;
}

std::optional<int> LoadedProgram::ended() {
  int status = 0;
  const ssize_t size = recv(socket_, &status, sizeof status, MSG_DONTWAIT);
  if (size == 0) throw std::runtime_error("the program that stands before its main was ended");
  return size == sizeof status ? std::optional(status) : std::nullopt;
}

}  // namespace isobar
