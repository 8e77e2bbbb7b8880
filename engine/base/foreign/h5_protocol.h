#pragma once
// What a program and `isobar-h5`, the process that holds the HDF5 library, say to each other over a socket
// pair: same machine, same build, so plain structs. Neither side trusts a number of the other.
//
//   open   request + one file descriptor (SCM_RIGHTS) -> a table (H5TableHead, chunk offsets, attributes)
//   read   a record of the file opened last           -> its floats, in one or more answers
//   either                                            -> a refusal: reason, NUL, hint
#include <array>
#include <cstdint>

namespace isobar {

inline constexpr std::uint32_t kH5Magic = 0x35483149;  // "I1H5"

enum class H5Ask : std::uint32_t { open = 1, read = 2 };
enum class H5Say : std::uint32_t { table = 1, floats = 2, refusal = 3 };

struct H5Request {
  std::uint32_t magic = kH5Magic;
  H5Ask ask = H5Ask::open;
  std::int64_t time = 0;       ///< read: the record
  std::int64_t height = 0;     ///< read: so many of its rows
  std::int64_t width = 0;      ///< read: their first columns
  std::int64_t first_row = 0;  ///< read: the first of its rows
};

struct H5Answer {
  std::uint32_t magic = kH5Magic;
  H5Say say = H5Say::refusal;
  std::uint64_t bytes = 0;  ///< bytes that follow
};

struct H5TableHead {
  std::array<std::int64_t, 4> shape{};  ///< [time, channel, lat, lon]
  std::array<std::int64_t, 4> chunk{};  ///< values in a chunk; zeros when contiguous
  std::uint64_t offset = 0;             ///< contiguous: first byte of record 0
  std::uint64_t chunks = 0;   ///< uncompressed chunks: that many offsets (64 bits each, row-major) follow
  std::uint32_t storage = 0;  ///< FieldStorage
  float fill = 0;             ///< value of chunks that were never written
  std::uint32_t attributes =
      0;  ///< then that many: name and list of strings, each text after its 32-bit length
  std::uint32_t reserved = 0;
};

inline constexpr std::uint64_t kMissingChunk = ~std::uint64_t{0};

// Bounds that both sides hold to.
inline constexpr std::int64_t kMostRecords = 1'000'000;
inline constexpr std::int64_t kMostRecordBytes = std::int64_t{1} << 30;
inline constexpr std::int64_t kMostChunks = 4'000'000;
inline constexpr std::uint64_t kMostTableBytes = 64'000'000;
inline constexpr std::uint64_t kMostRefusalBytes = 4000;
inline constexpr std::uint32_t kMostAttributes = 64;
inline constexpr std::uint32_t kMostStrings = 10'000;      ///< strings of one attribute
inline constexpr std::uint32_t kMostStringBytes = 10'000;  ///< bytes of one string
inline constexpr std::uint64_t kMostAttributeBytes = 1'000'000;

}  // namespace isobar
