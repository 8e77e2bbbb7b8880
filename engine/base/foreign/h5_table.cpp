#include "foreign/h5_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/checked.h"
#include "core/error.h"
#include "core/text.h"
#include "foreign/h5_protocol.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse_table(const fs::path& path, const std::string& reason) {
  throw Error(reason, path.string(), "is it damaged? copy it again");
}

/// Takes values off the front of bytes that may end anywhere.
class Cursor {
 public:
  Cursor(std::span<const std::byte> left, const fs::path& path) : left_(left), path_(path) {}

  template <typename T>
  T value() {
    T out;
    copy(std::as_writable_bytes(std::span(&out, 1)));
    return out;
  }
  void copy(std::span<std::byte> out) {
    const std::span<const std::byte> from = take(out.size());
    std::copy(from.begin(), from.end(), out.begin());
  }
  std::string text() {
    const auto length = value<std::uint32_t>();
    if (length > kMostStringBytes) refuse_table(path_, "the HDF5 reader sent a text that is too long");
    const std::span<const std::byte> from = take(length);
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  std::size_t left() const { return left_.size(); }

 private:
  std::span<const std::byte> take(std::size_t bytes) {
    if (bytes > left_.size()) refuse_table(path_, "the HDF5 reader sent a table that ends early");
    const std::span<const std::byte> front = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return front;
  }

  std::span<const std::byte> left_;
  const fs::path& path_;
};

void check_range(std::uint64_t begin, std::uint64_t bytes, std::uint64_t file_bytes, const fs::path& path) {
  if (begin <= file_bytes && bytes <= file_bytes - begin) return;
  std::uint64_t end = 0;
  const bool countable = !__builtin_add_overflow(begin, bytes, &end);
  throw Error(fmt::format("the file has {}, its header promises {}", human_bytes(file_bytes),
                          countable ? human_bytes(end) : "more than can be counted"),
              path.string(), "the file was cut short; copy it again");
}

void check_chunks(const H5Table& table, std::uint64_t file_bytes, const fs::path& path) {
  const auto bytes = static_cast<std::uint64_t>(*checked_product(table.chunk, 4));
  std::vector<std::uint64_t> sorted;
  for (const std::uint64_t begin : table.chunks) {
    if (begin == kMissingChunk) continue;
    check_range(begin, bytes, file_bytes, path);
    sorted.push_back(begin);
  }
  if (sorted.empty()) refuse_table(path, "dataset `fields` was declared but never written");
  if (!std::is_sorted(sorted.begin(), sorted.end())) std::sort(sorted.begin(), sorted.end());
  for (std::size_t n = 1; n < sorted.size(); ++n) {
    if (sorted[n] - sorted[n - 1] < bytes) {
      refuse_table(path, fmt::format("two chunks of dataset `fields` overlap at byte {}", sorted[n]));
    }
  }
}

void take_chunks(H5Table& table, std::uint64_t count, Cursor& cursor, const fs::path& path) {
  const std::array<std::int64_t, 4> grid = chunk_grid(table.shape, table.chunk);
  const auto wanted = static_cast<std::uint64_t>(*checked_product(grid));
  if (count != wanted || cursor.left() / sizeof(std::uint64_t) < count) {
    refuse_table(path, fmt::format("the HDF5 reader listed {} chunks, {} are there", count, wanted));
  }
  table.chunks.resize(count);
  cursor.copy(std::as_writable_bytes(std::span(table.chunks)));
}

void take_attributes(H5Table& table, std::uint32_t count, Cursor& cursor, const fs::path& path) {
  if (count > kMostAttributes) refuse_table(path, "the HDF5 reader sent too many attributes");
  for (std::uint32_t n = 0; n < count; ++n) {
    const std::string name = cursor.text();
    const auto strings = cursor.value<std::uint32_t>();
    if (strings > kMostStrings) refuse_table(path, "the HDF5 reader sent too many texts");
    std::vector<std::string>& values = table.attributes[name];
    for (std::uint32_t s = 0; s < strings; ++s) values.push_back(printable(cursor.text(), 100));
  }
}

}  // namespace

std::array<std::int64_t, 4> chunk_grid(const std::array<std::int64_t, 4>& shape,
                                       const std::array<std::int64_t, 4>& chunk) {
  std::array<std::int64_t, 4> grid{};
  for (std::size_t d = 0; d < 4; ++d) grid[d] = (shape[d] - 1) / chunk[d] + 1;
  return grid;
}

std::string shape_problem(const std::array<std::int64_t, 4>& shape) {
  for (std::size_t d = 0; d < 4; ++d) {
    if (shape[d] < 1) return fmt::format("dimension {} of dataset `fields` is {}", d, shape[d]);
  }
  if (shape[0] > kMostRecords) {
    return fmt::format("dataset `fields` has {} records, at most {} are read", human_count(shape[0]),
                       human_count(kMostRecords));
  }
  const std::optional<std::int64_t> record = checked_product(std::span(shape).subspan(1), 4);
  if (!record || *record > kMostRecordBytes) {
    return fmt::format("a record of dataset `fields` is {} x {} x {} values, at most 1 GiB is read", shape[1],
                       shape[2], shape[3]);
  }
  return "";
}

std::string chunk_problem(const std::array<std::int64_t, 4>& shape,
                          const std::array<std::int64_t, 4>& chunk) {
  for (std::size_t d = 0; d < 4; ++d) {
    // Along time a chunk may be longer than what is there yet; elsewhere none of ours or of h5py's is.
    if (chunk[d] < 1 || (d > 0 && chunk[d] > shape[d])) {
      return fmt::format("chunks of dataset `fields` have extent {} along dimension {}, the dataset has {}",
                         chunk[d], d, shape[d]);
    }
  }
  const std::optional<std::int64_t> bytes = checked_product(chunk, 4);
  if (!bytes || *bytes > std::int64_t{1} << 32) return "chunks of dataset `fields` are larger than 4 GiB";
  const std::optional<std::int64_t> count = checked_product(chunk_grid(shape, chunk));
  if (!count || *count > kMostChunks) {
    return fmt::format("dataset `fields` has more than {} chunks", human_count(kMostChunks));
  }
  return "";
}

H5Table decode_table(std::span<const std::byte> bytes, std::uint64_t file_bytes, const fs::path& path) {
  Cursor cursor(bytes, path);
  const auto head = cursor.value<H5TableHead>();
  H5Table table;
  table.shape = head.shape;
  table.chunk = head.chunk;
  table.offset = head.offset;
  table.fill = head.fill;
  if (const std::string problem = shape_problem(table.shape); !problem.empty()) refuse_table(path, problem);
  if (head.storage > static_cast<std::uint32_t>(FieldStorage::compressed)) {
    refuse_table(path, fmt::format("the HDF5 reader named a storage {} that does not exist", head.storage));
  }
  table.storage = static_cast<FieldStorage>(head.storage);
  if (table.storage == FieldStorage::contiguous) {
    check_range(head.offset, static_cast<std::uint64_t>(*checked_product(table.shape, 4)), file_bytes, path);
  } else {
    if (const std::string problem = chunk_problem(table.shape, table.chunk); !problem.empty())
      refuse_table(path, problem);
  }
  if (table.storage == FieldStorage::chunked) {
    take_chunks(table, head.chunks, cursor, path);
    check_chunks(table, file_bytes, path);
  }
  take_attributes(table, head.attributes, cursor, path);
  if (cursor.left() != 0) refuse_table(path, "the HDF5 reader sent more than its table");
  return table;
}

}  // namespace isobar
