#include "launch/rank_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/error.h"
#include "core/standard_output.h"
#include "launch/spawn.h"

namespace isobar {

namespace {
constexpr std::size_t kLongestLine_bytes = 65'536;
constexpr std::size_t kAtOnce_bytes = 4096;  // a pipe that can be written to takes so much without waiting
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

void OutputQueue::add(std::string_view text) {
  if (to_ >= 0) waiting_ += text;
}

pollfd OutputQueue::to_wait_for() const {
  return {.fd = is_empty() ? -1 : to_, .events = POLLOUT, .revents = 0};
}

void OutputQueue::write_some() {
  const std::size_t bytes = std::min(kAtOnce_bytes, waiting_.size() - written_);
  const ssize_t done = write(to_, waiting_.data() + written_, bytes);
  if (done < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (done <= 0) {  // training continues
    is_lost_ = errno != EPIPE && !reader_left(to_);
    to_ = -1;
  }
  written_ = done <= 0 ? waiting_.size() : written_ + static_cast<std::size_t>(done);
  if (written_ < waiting_.size() / 2) return;
  waiting_.erase(0, written_);
  written_ = 0;
}

RankOutput::RankOutput(int rank, OutputQueue* to) : to_(to), lines_(rank) {
  if (to_ == nullptr) {
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
  if (to_ != nullptr) write_.close();
}

bool RankOutput::pass_on_piece(bool over_live_line) {
  std::array<char, 16'384> piece{};
  const ssize_t got = read(read_.number(), piece.data(), piece.size());
  if (got < 0 && errno == EINTR) return true;
  if (got == 0) read_.close();
  if (got <= 0) return false;
  const std::string_view text(piece.data(), static_cast<std::size_t>(got));
  kept_ += text;
  constexpr auto kMost = static_cast<std::size_t>(kMostKept_bytes);
  if (kept_.size() > 2 * kMost) kept_.erase(0, kept_.size() - kMost);
  print(lines_.take(text), over_live_line);
  return true;
}

void RankOutput::pass_on(bool over_live_line) {
  while (number() >= 0 && pass_on_piece(over_live_line)) {
  }
}

void RankOutput::finish(bool over_live_line) {
  if (to_ == nullptr) return;
  while (read_.is_open() && pass_on_piece(over_live_line)) {  // no more than a pipe holds: its writer is gone
  }
  print(lines_.rest(), over_live_line);
  read_.close();
}

std::string RankOutput::kept() const {
  if (to_ == nullptr) return end_of(write_, kMostKept_bytes);
  constexpr auto kMost = static_cast<std::size_t>(kMostKept_bytes);
  return kept_.size() <= kMost ? kept_ : kept_.substr(kept_.size() - kMost);
}

void RankOutput::print(const std::string& lines, bool over_live_line) const {
  if (!lines.empty()) to_->add((over_live_line ? "\r\x1b[K" : "") + lines);
}

}  // namespace isobar
