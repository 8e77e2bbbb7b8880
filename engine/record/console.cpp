#include "record/console.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <span>

#include "core/error.h"

namespace isobar {
namespace {

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

std::size_t terminal_columns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

Console::Console() : terminal_(isatty(STDOUT_FILENO) == 1) {}

Console::~Console() { clear_live(); }

void Console::keep_in(const std::filesystem::path& file) {
  path_ = file;
  file_ = FileDescriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file_.is_open()) throw system_error("cannot create the console log", file.string(), errno);
  write_fully(file_, path_, std::as_bytes(std::span(earlier_)));
  earlier_.clear();
}

void Console::line(std::string_view text) {
  clear_live();
  print(std::string(text) + "\n");
  keep(text);
}

void Console::progress(std::string_view text, bool keep_it) {
  if (terminal_) {
    print("\r\x1b[K" + std::string(text.substr(0, terminal_columns() - 1)));
    live_ = true;
  } else {
    print(std::string(text) + "\n");
  }
  if (keep_it) keep(text);
}

void Console::clear_live() {
  if (live_) print("\r\x1b[K");
  live_ = false;
}

void Console::keep(std::string_view text) {
  const std::string line = std::string(text) + "\n";
  if (file_.is_open()) {
    write_fully(file_, path_, std::as_bytes(std::span(line)));
  } else {
    earlier_ += line;
  }
}

}  // namespace isobar
