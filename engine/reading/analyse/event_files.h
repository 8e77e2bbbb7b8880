#pragma once
// Event files of TensorBoard, those of other programs too, read while they grow.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "record/tfevents_reader.h"

namespace isobar {

/// Those in a folder, sorted; at most 64.
std::vector<std::filesystem::path> event_files(const std::filesystem::path& folder);

/// One after the other: a later file goes on where an earlier one stopped, so it is read only once that one
/// is read to its end.
class EventFiles {
 public:
  struct File {
    std::optional<TfEventsReader> reader = {};
    std::string error = {};  ///< why it cannot be read; "" = it can
  };

  /// Gives scalars that were added since the last call to `take`; false when nothing was. At most 16 MiB a
  /// call.
  template <typename Take>
  bool update(const std::filesystem::path& folder, const Take& take) {
    for (const std::filesystem::path& path : event_files(folder)) {
      File& file = files_[path];
      try {
        if (!file.reader) file.reader.emplace(path);
        const TfEvents events = file.reader->read_new();
        for (const TfScalar& scalar : events.scalars) take(scalar);
        if (!events.scalars.empty() || !events.images.empty()) return true;
      } catch (const Error& error) {
        file.error = error.what();
      }
    }
    return false;
  }
  /// All that were looked at.
  const std::map<std::filesystem::path, File>& files() const { return files_; }

 private:
  std::map<std::filesystem::path, File> files_;
};

}  // namespace isobar
