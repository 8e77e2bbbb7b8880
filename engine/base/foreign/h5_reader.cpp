#include "foreign/h5_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/argv.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr int kRequestPatience = 6;  // times the patience for silence: a whole request may take that long

fs::path program_beside_this() {
  std::error_code code;
  const fs::path self = fs::read_symlink("/proc/self/exe", code);
  if (code) throw system_error("cannot find out where this program is", "/proc/self/exe", code.value());
  return self.parent_path() / "isobar-h5";
}

/// The loader may need the path of the library; the child gets nothing else of our environment.
std::vector<std::string> small_environment() {
  std::vector<std::string> out;
  const char* libraries = std::getenv("LD_LIBRARY_PATH");
  if (libraries != nullptr) out.push_back(std::string("LD_LIBRARY_PATH=") + libraries);
  return out;
}

/// Starts `program` with `socket` as its input and output and nothing else of ours open. Signals that ask a
/// trainer to stop are kept from it: the trainer may still want its last records, and a closed socket ends
/// it.
pid_t start(const fs::path& program, int socket) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, socket, 0);
  posix_spawn_file_actions_adddup2(&files, socket, 1);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP}) sigaddset(&blocked, number);
  sigset_t usual;
  sigfillset(&usual);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> words = {program.string()};
  std::vector<std::string> environment = small_environment();
  pid_t pid = 0;
  const int number = posix_spawn(&pid, program.c_str(), &files, &attributes, as_argv(words).data(),
                                 as_argv(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (number == 0) return pid;
  const Error error =
      system_error("the program that reads HDF5 files cannot be started", program.string(), number);
  throw Error(error.what(), error.where(), "build it: ./isobar run does", error.code());
}

}  // namespace

struct H5Reader::Waiting {
  Waiting(const fs::path& file, int patience_ms)
      : path(file),
        silent_since_us(steady_us()),
        end_us(silent_since_us + std::int64_t{patience_ms} * 1000 * kRequestPatience) {}

  Error error(const std::string& reason, const std::string& hint) const {
    return {reason, path.string(), hint};
  }

  const fs::path& path;
  std::int64_t silent_since_us;
  std::int64_t end_us;
};

H5Reader::H5Reader(const H5Program& program) : patience_ms_(program.patience_ms) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw system_error("cannot make a pair of sockets", "isobar-h5", errno);
  }
  socket_ = FileDescriptor(ends[0]);
  const FileDescriptor theirs(ends[1]);
  pid_ = start(program.path.empty() ? program_beside_this() : program.path, theirs.number());
}

H5Reader::~H5Reader() { end(); }

/// Ends the child, whatever it is doing, and returns its wait status.
int H5Reader::end() {
  if (pid_ <= 0) return 0;
  socket_.close();
  kill(pid_, SIGKILL);  // it only reads: nothing is lost
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return status;
}

void H5Reader::fail(const std::string& reason, const Waiting& waiting, const std::string& hint) {
  end();
  throw waiting.error(reason, hint);
}

/// The child closed its end: it is dying or dead, and its exit status has the reason.
void H5Reader::explain_death(const Waiting& waiting) {
  siginfo_t about{};
  for (int waited_ms = 0; waited_ms < patience_ms_; waited_ms += 2) {
    if (waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | WNOHANG | WNOWAIT) != 0 || about.si_pid != 0)
      break;
    poll(nullptr, 0, 2);
  }
  const int status = end();
  if (about.si_pid == 0) fail("the HDF5 reader stopped answering", waiting);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) fail("the HDF5 library ran without end", waiting);
  if (WIFSIGNALED(status)) {
    fail(fmt::format("the HDF5 library crashed (signal {}) while reading this file", WTERMSIG(status)),
         waiting);
  }
  const int code = WEXITSTATUS(status);
  if (code == 127) {
    throw waiting.error("the program that reads HDF5 files does not start (exit code 127)",
                        "is the HDF5 library installed? ./isobar doctor lists what is missing");
  }
  fail(fmt::format("the HDF5 reader gave up (exit code {})", code), waiting);
}

void H5Reader::send(const H5Request& request, int file, const Waiting& waiting) {
  iovec bytes{const_cast<H5Request*>(&request), sizeof(request)};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (file >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &file, sizeof(int));
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket_.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent == static_cast<ssize_t>(sizeof(request))) return;
  if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) explain_death(waiting);
  fail("the HDF5 reader takes no requests", waiting);
}

void H5Reader::receive(std::span<std::byte> out, Waiting& waiting) {
  while (!out.empty()) {
    const std::int64_t patience_us = std::int64_t{patience_ms_} * 1000;
    const std::int64_t until_us = std::min(waiting.end_us, waiting.silent_since_us + patience_us);
    const std::int64_t left_ms = (until_us - steady_us() + 999) / 1000;
    pollfd wanted{socket_.number(), POLLIN, 0};
    const int ready = left_ms > 0 ? poll(&wanted, 1, static_cast<int>(left_ms)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      const bool drips = until_us == waiting.end_us;
      fail(fmt::format("the HDF5 library was not done with this file after {} s{}",
                       (drips ? kRequestPatience : 1) * patience_ms_ / 1000.0,
                       drips ? "" : " without a sign of it"),
           waiting, "the file is damaged or hostile, or its file system is very slow");
    }
    const ssize_t got = recv(socket_.number(), out.data(), out.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) explain_death(waiting);
    out = out.subspan(static_cast<std::size_t>(got));
    waiting.silent_since_us = steady_us();
  }
}

H5Answer H5Reader::receive_answer(Waiting& waiting) {
  H5Answer answer;
  receive(std::as_writable_bytes(std::span(&answer, 1)), waiting);
  if (answer.magic != kH5Magic) fail("the HDF5 reader answered with something else", waiting);
  return answer;
}

void H5Reader::refuse(const H5Answer& answer, Waiting& waiting) {
  if (answer.say != H5Say::refusal || answer.bytes > kMostRefusalBytes) {
    fail("the HDF5 reader gave an answer that was not asked for", waiting);
  }
  std::string text(answer.bytes, '\0');
  receive(std::as_writable_bytes(std::span(text)), waiting);
  const std::size_t end = std::min(text.find('\0'), text.size());
  const std::string hint = end < text.size() ? text.substr(end + 1) : "";
  throw waiting.error(printable(text.substr(0, end), 300), printable(hint, 300));
}

H5Table H5Reader::open(const FileDescriptor& file, const fs::path& path) {
  Waiting waiting(path, patience_ms_);
  send({.ask = H5Ask::open}, file.number(), waiting);
  const H5Answer answer = receive_answer(waiting);
  if (answer.say != H5Say::table) refuse(answer, waiting);
  if (answer.bytes > kMostTableBytes) fail("the HDF5 reader sent a table that is too long", waiting);
  std::vector<std::byte> bytes;
  while (bytes.size() < answer.bytes) {  // grown as it comes: a promise alone takes no memory
    const std::size_t begin = bytes.size();
    bytes.resize(std::min<std::size_t>(answer.bytes, begin + 1'000'000));
    receive(std::span(bytes).subspan(begin), waiting);
  }
  try {
    return decode_table(bytes, file_size(file, path), path);
  } catch (const Error&) {
    end();  // a sound child checks the same and refuses: this one is not to be asked again
    throw;
  }
}

void H5Reader::read(const fs::path& path, std::int64_t time, std::int64_t first_row, std::int64_t height,
                    std::int64_t width, std::span<float> out) {
  Waiting waiting(path, patience_ms_);
  send({.ask = H5Ask::read, .time = time, .height = height, .width = width, .first_row = first_row}, -1,
       waiting);
  std::span<std::byte> left = std::as_writable_bytes(out);
  while (!left.empty()) {
    const H5Answer answer = receive_answer(waiting);
    if (answer.say != H5Say::floats) refuse(answer, waiting);
    if (answer.bytes == 0 || answer.bytes > left.size() || answer.bytes % sizeof(float) != 0) {
      fail(fmt::format("the HDF5 reader sent {} bytes where {} were left", answer.bytes, left.size()),
           waiting);
    }
    receive(left.first(answer.bytes), waiting);
    left = left.subspan(answer.bytes);
  }
}

}  // namespace isobar
