// Preloaded into a program that is run often: it stands before its main with all its libraries loaded, which
// takes 0.3 s of a processor where libtorch is among them. For each message on the socket ISOBAR_FORKS_ON it
// forks, and the child is the program with the words, the environment, the folder and the files of the
// message (loaded_program.h). Where the message names a launcher, the child becomes that one, and whenever it
// spawns the program, it gets such a fork: from a helper, which is its first child.
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kMostBytes = 1 << 20;  // of a message

using Main = int (*)(int, char**, char**);
Main program_main = nullptr;
std::vector<char> message(kMostBytes);

/// Texts of a list, each with a mark in front and a zero behind, up to one without; and a null pointer.
std::vector<char*> texts_from(char*& at) {
  std::vector<char*> out;
  for (; *at != '\0'; at += std::strlen(at) + 1) out.push_back(at + 1);
  ++at;
  out.push_back(nullptr);
  return out;
}

void add_texts(std::string& out, char* const* texts) {
  for (; *texts != nullptr; ++texts) (out += '+').append(*texts).push_back('\0');
  out += '\0';
}

bool take(const char* path, int flags, int place) {
  const int file = open(path, flags, 0600);
  return file >= 0 && dup2(file, place) == place && (file == place || close(file) == 0);
}

int run_main(char* texts) {
  static std::vector<char*> words, environment;  // as long as the program
  words = texts_from(texts);
  environment = texts_from(texts);
  environ = environment.data();
  return program_main(static_cast<int>(words.size()) - 1, words.data(), environ);
}

/// How a launcher wants the program to begin; the descriptors come beside the message.
struct Spawned {
  int count = 0;                  ///< of descriptors
  std::array<int, 3> place = {};  ///< the number of each
  bool has_mask = false;
  sigset_t mask{};
};

struct Control {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(3 * sizeof(int))> bytes = {};
};

int begin_spawned(const std::array<int, 3>& files) {
  Spawned how;
  std::memcpy(&how, message.data(), sizeof how);
  setpgid(0, 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(how.count); ++i) {
    dup2(files[i], how.place[i]);
    close(files[i]);
  }
  if (how.has_mask) pthread_sigmask(SIG_SETMASK, &how.mask, nullptr);
  return run_main(message.data() + sizeof how);
}

/// Beside a launcher: forks whose parent is that one, for as long as it lives.
int stand_beside(int socket) {
  while (true) {
    Control control;
    iovec place{message.data(), message.size() - 1};
    msghdr header{};
    header.msg_iov = &place;
    header.msg_iovlen = 1;
    header.msg_control = control.bytes.data();
    header.msg_controllen = control.bytes.size();
    if (recvmsg(socket, &header, 0) <= 0) _exit(0);
    std::array<int, 3> files = {};
    std::size_t count = 0;
    if (cmsghdr* const given = CMSG_FIRSTHDR(&header); given != nullptr) {
      count = (given->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      std::memcpy(files.data(), CMSG_DATA(given), count * sizeof(int));
    }
    const auto child = static_cast<pid_t>(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0));
    if (child == 0) {
      close(socket);
      return begin_spawned(files);
    }
    for (std::size_t i = 0; i < count; ++i) close(files[i]);
    if (send(socket, &child, sizeof child, 0) < 0) _exit(1);
  }
}

int become(char* texts) {
  const std::vector<char*> places = texts_from(texts);  // folder, standard output, standard error, launcher
  if (chdir(places[0]) != 0 || !take("/dev/null", O_RDONLY, 0) || !take(places[1], O_WRONLY | O_CREAT, 1) ||
      !take(places[2], O_WRONLY | O_CREAT, 2))
    return 127;
  const char* const launcher = places[3];
  if (launcher == nullptr) return run_main(texts);
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) != 0) return 127;
  if (fork() == 0) {
    close(ends[0]);
    return stand_beside(ends[1]);
  }
  close(ends[1]);
  const std::vector<char*> words = texts_from(texts);
  std::vector<char*> environment = texts_from(texts);
  std::string forks_by = "ISOBAR_FORKS_BY=" + std::to_string(ends[0]);
  environment.insert(environment.begin(), forks_by.data());
  execve(launcher, words.data(), environment.data());
  return 127;
}

int stand(int, char**, char**) {
  const int socket = std::atoi(std::getenv("ISOBAR_FORKS_ON"));
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // of what stood beside launchers that have ended
  while (true) {
    const ssize_t size = recv(socket, message.data(), message.size() - 1, 0);
    if (size <= 0) _exit(0);
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
    const pid_t child = fork();
    if (child == 0) {
      close(socket);
      return become(message.data());
    }
    int status = 0;
    if (send(socket, &child, sizeof child, 0) < 0 || child < 0) _exit(1);
    if (waitpid(child, &status, 0) != child || send(socket, &status, sizeof status, 0) < 0) _exit(1);
  }
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// In a launcher: the program that it starts, and the socket of who forks it.
struct Launcher {
  Launcher() {
    const char* const socket_text = std::getenv("ISOBAR_FORKS_BY");
    const char* const program_text = std::getenv("ISOBAR_FORKS_OF");
    if (socket_text == nullptr || program_text == nullptr) return;
    socket = std::atoi(socket_text);
    program = program_text;
    fcntl(socket, F_SETFD, FD_CLOEXEC);
    for (const char* const name : {"ISOBAR_FORKS_BY", "ISOBAR_FORKS_OF", "LD_PRELOAD"}) unsetenv(name);
  }
  int socket = -1;
  std::string program;
  const posix_spawn_file_actions_t* files = nullptr;  ///< whose descriptors these are
  std::vector<int> from, place;
};
Launcher launcher;

/// Whether all that is wanted is a group of its own, a mask and descriptors of its own.
bool is_plain(const posix_spawn_file_actions_t* files, const posix_spawnattr_t* attributes) {
  if (files == nullptr || attributes == nullptr || files != launcher.files) return false;
  short flags = 0;
  posix_spawnattr_getflags(attributes, &flags);
  return static_cast<std::size_t>(files->__used) == launcher.from.size() && launcher.from.size() <= 3 &&
         (flags & ~POSIX_SPAWN_SETSIGMASK) == POSIX_SPAWN_SETPGROUP;
}

/// The process, or a negative number.
pid_t fork_of(const posix_spawnattr_t* attributes, char* const* words, char* const* environment) {
  Spawned how;
  how.count = static_cast<int>(launcher.from.size());
  std::copy(launcher.place.begin(), launcher.place.end(), how.place.begin());
  short flags = 0;
  posix_spawnattr_getflags(attributes, &flags);
  how.has_mask = (flags & POSIX_SPAWN_SETSIGMASK) != 0;
  posix_spawnattr_getsigmask(attributes, &how.mask);
  std::string text(reinterpret_cast<const char*>(&how), sizeof how);
  add_texts(text, words);
  add_texts(text, environment);
  iovec place{text.data(), text.size()};
  msghdr header{};
  header.msg_iov = &place;
  header.msg_iovlen = 1;
  Control control;
  if (how.count > 0) {
    const std::size_t bytes = launcher.from.size() * sizeof(int);
    header.msg_control = control.bytes.data();
    header.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* const given = CMSG_FIRSTHDR(&header);
    given->cmsg_level = SOL_SOCKET;
    given->cmsg_type = SCM_RIGHTS;
    given->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(given), launcher.from.data(), bytes);
  }
  pid_t child = -1;
  if (sendmsg(launcher.socket, &header, MSG_NOSIGNAL) < 0 ||
      recv(launcher.socket, &child, sizeof child, 0) != sizeof child)
    return -1;
  setpgid(child, child);  // it does so itself, and perhaps later
  return child;
}

}  // namespace

extern "C" {

// What the C library's start calls, once all constructors ran.
int __libc_start_main(Main main, int argc, char** argv, void (*begin)(), void (*end)(), void (*unload)(),
                      void* stack) {
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  const auto start = next<Start>("__libc_start_main");
  program_main = main;
  return start(std::getenv("ISOBAR_FORKS_ON") != nullptr ? stand : main, argc, argv, begin, end, unload,
               stack);
}

int posix_spawn_file_actions_init(posix_spawn_file_actions_t* files) noexcept {
  launcher.files = files;
  launcher.from.clear();
  launcher.place.clear();
  return next<int (*)(posix_spawn_file_actions_t*)>("posix_spawn_file_actions_init")(files);
}

int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t* files, int from, int place) noexcept {
  launcher.from.push_back(from);
  launcher.place.push_back(place);
  return next<int (*)(posix_spawn_file_actions_t*, int, int)>("posix_spawn_file_actions_adddup2")(files, from,
                                                                                                  place);
}

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* files,
                const posix_spawnattr_t* attributes, char* const* words, char* const* environment) {
  if (launcher.socket < 0 || launcher.program != path || !is_plain(files, attributes))
    return next<decltype(&posix_spawn)>("posix_spawn")(pid, path, files, attributes, words, environment);
  *pid = fork_of(attributes, words, environment);
  return *pid > 0 ? 0 : EAGAIN;
}

}  // extern "C"
