#pragma once
// What several ranks say, on one terminal: whole lines, each with the rank that said it.
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

/// One stream (standard output or standard error) of one rank: a pipe whose lines go to the same stream of
/// this process, or, when it is quiet, a file in memory.
class RankOutput {
 public:
  /// `to` is the descriptor of this process that lines go to; -1 = quiet.
  RankOutput(int rank, int to);

  /// What the rank writes to; closed here once it was started.
  int end_of_rank() const { return write_.number(); }
  void rank_has_it();
  /// Readable when something was said, for `poll`; -1 for a quiet one.
  int number() const { return quiet_ ? -1 : read_.number(); }

  /// Passes on what is there, without waiting. `over_live_line`: a line that is overwritten stands on the
  /// terminal.
  void pass_on(bool over_live_line);
  /// The same for the last time, an unfinished line included.
  void finish(bool over_live_line);
  /// The end of what was said.
  std::string kept() const;

 private:
  void print(const std::string& lines, bool over_live_line) const;

  bool quiet_;
  int to_;
  PrefixedLines lines_;
  FileDescriptor read_;
  FileDescriptor write_;
  std::string kept_;
};

}  // namespace isobar
