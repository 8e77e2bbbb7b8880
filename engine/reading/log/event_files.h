#pragma once
// Event files of TensorBoard, those of other programs too, read while they grow.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "record/left_out.h"
#include "record/tfevents_reader.h"

namespace isobar {

/// More event files of one folder are not read: those that were made last are.
inline constexpr std::size_t kMostEventFiles = 10'000;

struct EventFileList {
  std::vector<std::filesystem::path> paths;  ///< by the time in their names, then by name
  LeftOut left_out;  ///< files beyond kMostEventFiles, and names that were not looked at

  bool empty() const { return paths.empty(); }
};

EventFileList event_files(const std::filesystem::path& folder);

/// One after the other: a later file continues where an earlier one stopped, so it is read only once that one
/// is read to its end.
class EventFiles {
 public:
  /// Gives scalars that were added since the last call to `take`; false once nothing is new in any file. At
  /// most 16 MiB a call. A scalar's `session` grows with each file and with each program that began to write.
  template <typename Take>
  bool update(const std::filesystem::path& folder, const Take& take) {
    if (next_ == 0) list_ = event_files(folder);
    return read_next(take);
  }
  template <typename Take>
  bool update(const EventFileList& list, const Take& take) {
    if (next_ == 0) list_ = list;
    return read_next(take);
  }

  /// How many were looked at.
  std::size_t size() const { return files_.size(); }
  /// Why files, or a part of them, cannot be read: "NAME: it is damaged; ...".
  std::vector<std::string> problems() const;
  /// What was read and is no scalar, and what was not read.
  LeftOut left_out() const;

 private:
  struct File {
    std::optional<TfEventsReader> reader = {};
    std::string error = {};  ///< why it cannot be read; "" = it can
    std::int64_t first_session = 0;
  };

  template <typename Take>
  bool read_next(const Take& take) {
    for (; next_ < list_.paths.size(); ++next_) {
      TfEvents events;
      const bool any = read(list_.paths[next_], events);
      for (const TfScalar& scalar : events.scalars) take(scalar);
      if (any) return true;
    }
    next_ = 0;
    return false;
  }
  /// True when bytes of the file were used up.
  bool read(const std::filesystem::path& path, TfEvents& out);

  std::map<std::filesystem::path, File> files_;
  EventFileList list_;
  std::size_t next_ = 0;  ///< the first of them that may hold more
  std::int64_t sessions_ = 0;
  LeftOut left_out_;
};

}  // namespace isobar
