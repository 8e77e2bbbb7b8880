#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "core/files.h"
#include "log/run_reader.h"
#include "support/temp_folder.h"

namespace isobar {

/// A run folder whose stream is a text.
class StreamFolder {
 public:
  explicit StreamFolder(const std::string& text) {
    write_file_whole(folder_ / "run.toml", std::string_view(""));
    write_file_whole(folder_ / "rank-0000.jsonl", std::string_view(text));
  }
  const std::filesystem::path& path() const { return folder_.path(); }
  RunReader read(bool keep_series = false) const {
    RunReader reader(path(), keep_series);
    reader.read_all();
    return reader;
  }

 private:
  TempFolder folder_;
};

}  // namespace isobar
