#pragma once
// Parts of a record out of uncompressed chunks, by offset. Internal to fields/.
#include <cstdint>
#include <filesystem>
#include <span>

#include "core/files.h"
#include "foreign/h5_table.h"

namespace isobar {

/// What is wanted of a record: these rows of these channels, and the first `width` columns of them.
struct RecordBox {
  std::int64_t first_channel = 0;
  std::int64_t channels = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t width = 0;
};

/// `box` of record `time` of the file that `table` describes, into `out` [channels, rows, width]. Reads no
/// byte of a chunk that belongs to another record or to other rows.
void read_chunked(const FileDescriptor& file, const std::filesystem::path& path, const H5Table& table,
                  std::int64_t time, const RecordBox& box, std::span<float> out);

}  // namespace isobar
