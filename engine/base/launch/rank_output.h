#pragma once
// The output of several ranks on one terminal: whole lines, each with the rank that printed it.
#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/files.h"

namespace isobar {

/// Cuts what comes in pieces into lines and puts "[1] " before each. Any thread, one at a time.
class PrefixedLines {
 public:
  explicit PrefixedLines(int rank) : prefix_("[" + std::to_string(rank) + "] ") {}

  /// The whole lines that `piece` completes, prefixed; what is left waits for its end. A line longer than
  /// 64 kB is cut.
  std::string take(std::string_view piece);
  /// What is left, as a line; "" when nothing is.
  std::string rest();

 private:
  std::string prefix_;
  std::string waiting_;
};

/// What is to go to one descriptor of this process. Nothing here ever waits for a reader: a pipe that nobody
/// empties, or a terminal that Ctrl-S holds, must not keep the launcher from hearing signals.
class OutputQueue {
 public:
  explicit OutputQueue(int to) : to_(to) {}

  void add(std::string_view text);
  /// Whether so much waits that ranks should not be heard until some of it is gone.
  bool is_full() const { return waiting_.size() - written_ > kMost_bytes; }
  bool is_empty() const { return written_ == waiting_.size(); }
  /// To wait for by `poll`: until it can be written to where there is something to write.
  pollfd to_wait_for() const;
  /// Writes a piece; to be called after `poll` reported that this does not wait.
  void write_some();
  /// Whether something could not be written that somebody would have read.
  bool is_lost() const { return is_lost_; }

 private:
  static constexpr std::size_t kMost_bytes = 1 << 18;

  int to_;
  std::string waiting_;
  std::size_t written_ = 0;  ///< bytes of `waiting_`
  bool is_lost_ = false;
};

/// One stream (standard output or standard error) of one rank: a pipe whose lines go to the same stream of
/// this process, or, when it is quiet, a file in memory.
class RankOutput {
 public:
  /// Lines go to `to`, which outlives this; null = quiet.
  RankOutput(int rank, OutputQueue* to);

  /// What the rank writes to; closed here once it was started.
  int end_of_rank() const { return write_.number(); }
  void rank_has_it();
  /// For `poll`: readable when there is output; -1 for a quiet one, and while there is no room for more.
  int number() const { return to_ == nullptr || to_->is_full() ? -1 : read_.number(); }

  /// Passes on what is there, without waiting, while there is room. `over_live_line`: a line that is
  /// overwritten stands on the terminal.
  void pass_on(bool over_live_line);
  /// Takes the rest of the output, an unfinished line included.
  void finish(bool over_live_line);
  /// The end of the output.
  std::string kept() const;

 private:
  /// False when nothing is there.
  bool pass_on_piece(bool over_live_line);
  void print(const std::string& lines, bool over_live_line) const;

  OutputQueue* to_;
  PrefixedLines lines_;
  FileDescriptor read_;
  FileDescriptor write_;
  std::string kept_;
};

}  // namespace isobar
