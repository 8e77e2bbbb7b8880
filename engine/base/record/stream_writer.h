#pragma once
// Append-only files of lines: the metric stream of one rank, its spans, the console's log. Lines are buffered
// and reach the file after `flush_ms` at the latest, from a thread of its own, so that a slow file system
// does not stop a step and a slow step does not hide finished lines.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "core/files.h"
#include "record/json_line.h"

namespace isobar {

enum class StreamStart {
  create,  ///< the file must not exist
  go_on,   ///< behind what is there; a half line that a dead writer left is cut off first
  nowhere  ///< what is written is forgotten, and no file is made
};

class StreamWriter {
 public:
  /// Opens `path` for appending. `flush_ms` is at least 1.
  StreamWriter(std::filesystem::path path, int flush_ms, StreamStart start = StreamStart::create);
  ~StreamWriter();
  StreamWriter(const StreamWriter&) = delete;
  StreamWriter& operator=(const StreamWriter&) = delete;

  /// Takes one line. Waits only when 4 MB are waiting for the file system. An earlier failure to write (disk
  /// full) is thrown here and from `finish`; every whole line before it stays readable.
  void write(const JsonLine& line) { write_line(line.text()); }
  /// Appends any text that ends in a newline.
  void write_line(std::string_view line);

  /// How long writers waited for the file system, all together.
  std::int64_t waited_us() const;

  /// Returns when every line taken so far is durable: they survive a power failure.
  void flush();

  /// Writes what is waiting and closes; later calls do nothing.
  void finish();

 private:
  void run();
  void throw_if_failed();

  std::filesystem::path path_;
  int flush_ms_;
  bool nowhere_;
  FileDescriptor file_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable drained_;
  std::string waiting_;
  std::exception_ptr failure_;
  std::int64_t waited_us_ = 0;
  bool finishing_ = false;
  bool hurries_ = false;  ///< `flush` waits, or much is waiting
  bool writes_ = false;   ///< lines are on their way to the file
  std::thread thread_;
};

}  // namespace isobar
