#include "launch/rank_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/error.h"
#include "launch/spawn.h"

namespace isobar {

namespace {
constexpr std::size_t kLongestLine_bytes = 65'536;
}  // namespace

std::string PrefixedLines::take(std::string_view piece) {
  std::string out;
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    waiting_ += piece.substr(0, end);
    if (end == std::string_view::npos && waiting_.size() < kLongestLine_bytes) return out;
    out += rest();
    piece.remove_prefix(end == std::string_view::npos ? piece.size() : end + 1);
  }
  return out;
}

std::string PrefixedLines::rest() {
  if (waiting_.empty()) return "";
  std::string out = prefix_ + waiting_ + "\n";
  waiting_.clear();
  return out;
}

RankOutput::RankOutput(int rank, int to) : quiet_(to < 0), to_(to), lines_(rank) {
  if (quiet_) {
    write_ = unnamed_file();
    return;
  }
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw system_error("cannot make a pipe", "pipe2", errno);
  read_ = FileDescriptor(ends[0]);
  write_ = FileDescriptor(ends[1]);
  fcntl(read_.number(), F_SETFL, O_NONBLOCK);
}

void RankOutput::rank_has_it() {
  if (!quiet_) write_.close();
}

void RankOutput::pass_on(bool over_live_line) {
  if (number() < 0) return;
  std::array<char, 16'384> piece{};
  for (;;) {
    const ssize_t got = read(read_.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) read_.close();
    if (got <= 0) return;
    const std::string_view text(piece.data(), static_cast<std::size_t>(got));
    kept_ += text;
    constexpr auto kMost = static_cast<std::size_t>(kMostKept_bytes);
    if (kept_.size() > 2 * kMost) kept_.erase(0, kept_.size() - kMost);
    print(lines_.take(text), over_live_line);
  }
}

void RankOutput::finish(bool over_live_line) {
  if (quiet_) return;
  pass_on(over_live_line);
  print(lines_.rest(), over_live_line);
  read_.close();
}

std::string RankOutput::kept() const {
  if (quiet_) return end_of(write_, kMostKept_bytes);
  constexpr auto kMost = static_cast<std::size_t>(kMostKept_bytes);
  return kept_.size() <= kMost ? kept_ : kept_.substr(kept_.size() - kMost);
}

void RankOutput::print(const std::string& lines, bool over_live_line) const {
  if (lines.empty()) return;
  std::string text = (over_live_line ? "\r\x1b[K" : "") + lines;
  for (std::string_view left = text; !left.empty();) {
    const ssize_t written = write(to_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody reads it any more, and training goes on
    left.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace isobar
