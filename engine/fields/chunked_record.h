#pragma once
// One record out of uncompressed chunks, by offset. Internal to fields/.
#include <cstdint>
#include <filesystem>
#include <span>

#include "core/files.h"
#include "fields/h5_table.h"

namespace isobar {

/// The first `height` rows and `width` columns of record `time` of the file that `table` describes, into
/// `out` [channel, height, width]. Reads no byte of a chunk that belongs to another record or to rows below.
void read_chunked_record(const FileDescriptor& file, const std::filesystem::path& path, const H5Table& table,
                         std::int64_t time, std::int64_t height, std::int64_t width, std::span<float> out);

}  // namespace isobar
