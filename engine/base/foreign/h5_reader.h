#pragma once
// The child process that reads HDF5 files for this one. For fields/.
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/files.h"
#include "foreign/h5_protocol.h"
#include "foreign/h5_table.h"

namespace isobar {

/// One running `isobar-h5`. The library may crash, hang or be subverted there: what comes back is bounded,
/// checked and waited for with a deadline, and each failure is an Error that names the file. After a failure
/// of the child (not after a refusal) `is_alive` is false and the process is gone. For one thread at a time.
class H5Reader {
 public:
  /// Error when the program is missing or cannot be started.
  explicit H5Reader(const H5Program& program);
  ~H5Reader();
  H5Reader(const H5Reader&) = delete;
  H5Reader& operator=(const H5Reader&) = delete;

  bool is_alive() const { return pid_ > 0; }

  H5Table open(const FileDescriptor& file, const std::filesystem::path& path);

  /// Record `time` of the file opened last, `height` rows from `first_row` on and the first `width` columns,
  /// into `out` [channel, height, width].
  void read(const std::filesystem::path& path, std::int64_t time, std::int64_t first_row, std::int64_t height,
            std::int64_t width, std::span<float> out);

 private:
  struct Waiting;  ///< what is waited for, until when, and the Error where it does not come
  void send(const H5Request& request, int file, const Waiting& waiting);
  H5Answer receive_answer(Waiting& waiting);
  void receive(std::span<std::byte> out, Waiting& waiting);
  [[noreturn]] void refuse(const H5Answer& answer, Waiting& waiting);
  [[noreturn]] void fail(const std::string& reason, const Waiting& waiting,
                         const std::string& hint = "the file is damaged or hostile; copy it again");
  [[noreturn]] void explain_death(const Waiting& waiting);
  int end();

  FileDescriptor socket_;
  pid_t pid_ = 0;
  int patience_ms_;
};

}  // namespace isobar
