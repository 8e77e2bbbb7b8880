#pragma once
// Where the records of a year file lie, as `isobar-h5` found it, and checked again here. For fields/.
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "foreign/h5_file.h"

namespace isobar {

struct H5Table {
  std::array<std::int64_t, 4> shape{};  ///< [time, channel, lat, lon]
  FieldStorage storage = FieldStorage::contiguous;
  std::uint64_t offset = 0;             ///< contiguous: first byte of record 0
  std::array<std::int64_t, 4> chunk{};  ///< chunked: values in a chunk
  std::vector<std::uint64_t> chunks;    ///< chunked: first byte of each, row-major, or kMissingChunk
  float fill = 0;                       ///< what missing chunks hold
  std::map<std::string, std::vector<std::string>> attributes;
};

/// Chunks along each dimension.
std::array<std::int64_t, 4> chunk_grid(const std::array<std::int64_t, 4>& shape,
                                       const std::array<std::int64_t, 4>& chunk);

/// What is wrong with a shape ("" when nothing): extents that are not positive, a record above 1 GiB, more
/// than a million records. Both sides ask.
std::string shape_problem(const std::array<std::int64_t, 4>& shape);

/// What is wrong with the chunks of `shape`; "" = nothing.
std::string chunk_problem(const std::array<std::int64_t, 4>& shape, const std::array<std::int64_t, 4>& chunk);

/// Decodes and checks an answer about a file of `file_bytes`: every byte that it promises lies in the file,
/// chunks do not overlap. Error (exit code 2) naming `path` otherwise, whatever the bytes are.
H5Table decode_table(std::span<const std::byte> bytes, std::uint64_t file_bytes,
                     const std::filesystem::path& path);

}  // namespace isobar
