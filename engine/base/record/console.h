#pragma once
// What a run says: on the terminal, and as plain text in the run folder's console.log.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "record/stream_writer.h"

namespace isobar {

/// Columns of the terminal on standard output; 80 where it is none.
std::size_t terminal_columns();

class Console {
 public:
  /// Lines go to standard output and, once `keep_in` was called, to the file too (the earlier ones included).
  Console();
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// A thread of its own writes them to the file within 200 ms: training does not wait for it. An earlier
  /// failure to write (disk full) is thrown by the call that prints the next line, and by `finish`.
  void keep_in(const std::filesystem::path& file);

  /// Nothing reaches the terminal from here on, nor a file that was not named before: of several ranks one
  /// speaks.
  void be_quiet() { quiet_ = true; }

  /// Returns when all lines are in the file; nothing is kept after it.
  void finish();

  /// A line for good.
  void line(std::string_view text);
  void lines(const std::vector<std::string>& texts);
  /// Lines of a drawing, with the colours that it has on a terminal; the file gets them without.
  void drawn(const std::vector<std::string>& texts);

  /// The state of something long. On a terminal one live line that is overwritten; elsewhere a line of its
  /// own. It is not kept in the file unless `keep`.
  void progress(std::string_view text, bool keep = false);

  /// Kept in the file only; for what goes to standard error.
  void note(std::string_view text) { keep(text); }

  bool is_terminal() const { return terminal_; }

 private:
  void clear_live();
  void keep(std::string_view text);

  bool terminal_;
  bool quiet_ = false;
  bool live_ = false;
  std::unique_ptr<StreamWriter> file_;
  std::string earlier_;
};

}  // namespace isobar
