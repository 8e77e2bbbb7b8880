#include "record/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "core/live_terminal.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr int kFlush_ms = 200;

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

std::size_t terminal_columns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

Console::Console() : terminal_(is_live_terminal(STDOUT_FILENO)) {}

Console::~Console() { clear_live(); }

void Console::keep_in(const std::filesystem::path& file) {
  file_ = std::make_unique<StreamWriter>(file, kFlush_ms, StreamStart::go_on);
  if (!earlier_.empty()) file_->write_line(earlier_);
  earlier_.clear();
}

void Console::finish() {
  clear_live();
  if (file_) file_->finish();
}

void Console::lines(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) line(text);
}

void Console::line(std::string_view text) {
  clear_live();
  if (!quiet_) print(printable_lines(text) + "\n");
  keep(text);
}

void Console::drawn(const std::vector<std::string>& texts) {
  clear_live();
  for (const std::string& text : texts) {
    if (!quiet_) print(text + "\n");
    keep(without_colours(text));
  }
}

void Console::progress(std::string_view text, bool keep_it) {
  if (quiet_) {
  } else if (terminal_) {
    print("\r\x1b[K" + printable(text, std::string_view::npos).substr(0, terminal_columns() - 1));
    live_ = true;
  } else {
    print(printable_lines(text) + "\n");
  }
  if (keep_it) keep(text);
}

void Console::clear_live() {
  if (live_) print("\r\x1b[K");
  live_ = false;
}

void Console::keep(std::string_view text) {
  const std::string line = std::string(text) + "\n";
  if (file_) {
    file_->write_line(line);
  } else if (!quiet_) {
    earlier_ += line;
  }
}

}  // namespace isobar
