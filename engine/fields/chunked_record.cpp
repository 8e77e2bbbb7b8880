#include "fields/chunked_record.h"

#include <algorithm>
#include <array>
#include <memory>

#include "fields/h5_protocol.h"

namespace isobar {
namespace {

/// The part of a record that lies in one chunk: `channels` x `rows` x `columns` values from its corner.
struct Part {
  std::int64_t channel = 0, row = 0, column = 0;  ///< of the corner
  std::int64_t channels = 0, rows = 0, columns = 0;
  std::uint64_t byte = 0;  ///< of the corner in the file, or kMissingChunk
};

class RecordReader {
 public:
  RecordReader(const FileDescriptor& file, const std::filesystem::path& path, const H5Table& table,
               std::int64_t height, std::int64_t width, std::span<float> out)
      : file_(file), path_(path), table_(table), height_(height), width_(width), out_(out) {}

  void read(const Part& part) {
    const auto [chunk_times, chunk_channels, chunk_rows, chunk_columns] = table_.chunk;
    const bool rows_touch = chunk_columns == width_;  // in `out` as in the chunk
    const bool planes_touch = rows_touch && chunk_rows == height_;
    if (part.byte == kMissingChunk) {
      for_each_row(part,
                   [&](std::span<float> to, std::int64_t) { std::fill(to.begin(), to.end(), table_.fill); });
    } else if (planes_touch) {
      pread_floats(part.byte, span_at(part.channel, part.row, 0, part.channels * chunk_rows * chunk_columns));
    } else if (rows_touch) {
      for (std::int64_t c = 0; c < part.channels; ++c) {
        pread_floats(part.byte + bytes(c * chunk_rows * chunk_columns),
                     span_at(part.channel + c, part.row, 0, part.rows * chunk_columns));
      }
    } else {
      read_through_copy(part);
    }
  }

 private:
  static std::uint64_t bytes(std::int64_t values) {
    return static_cast<std::uint64_t>(values) * sizeof(float);
  }

  std::span<float> span_at(std::int64_t channel, std::int64_t row, std::int64_t column, std::int64_t values) {
    return out_.subspan(static_cast<std::size_t>((channel * height_ + row) * width_ + column),
                        static_cast<std::size_t>(values));
  }

  void pread_floats(std::uint64_t byte, std::span<float> to) {
    pread_exactly(file_, path_, byte, std::as_writable_bytes(to));
  }

  /// Calls `take(row of out, first value of that row in the part's planes)` for every row of the part.
  template <typename Take>
  void for_each_row(const Part& part, const Take& take) {
    for (std::int64_t c = 0; c < part.channels; ++c) {
      for (std::int64_t r = 0; r < part.rows; ++r) {
        take(span_at(part.channel + c, part.row + r, part.column, part.columns),
             (c * table_.chunk[2] + r) * table_.chunk[3]);
      }
    }
  }

  void read_through_copy(const Part& part) {
    const std::int64_t plane = table_.chunk[2] * table_.chunk[3];
    const std::int64_t wanted = (part.channels - 1) * plane + part.rows * table_.chunk[3];
    if (copy_values_ < wanted) {
      copy_ = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(wanted));
      copy_values_ = wanted;
    }
    if (part.rows == table_.chunk[2]) {
      pread_floats(part.byte, {copy_.get(), static_cast<std::size_t>(wanted)});
    } else {
      for (std::int64_t c = 0; c < part.channels; ++c) {
        pread_floats(part.byte + bytes(c * plane),
                     {copy_.get() + c * plane, static_cast<std::size_t>(part.rows * table_.chunk[3])});
      }
    }
    for_each_row(part, [&](std::span<float> to, std::int64_t from) {
      std::copy_n(copy_.get() + from, to.size(), to.begin());
    });
  }

  const FileDescriptor& file_;
  const std::filesystem::path& path_;
  const H5Table& table_;
  std::int64_t height_;
  std::int64_t width_;
  std::span<float> out_;
  std::unique_ptr<float[]> copy_;
  std::int64_t copy_values_ = 0;
};

}  // namespace

void read_chunked_record(const FileDescriptor& file, const std::filesystem::path& path, const H5Table& table,
                         std::int64_t time, std::int64_t height, std::int64_t width, std::span<float> out) {
  const auto [chunk_times, chunk_channels, chunk_rows, chunk_columns] = table.chunk;
  const std::array<std::int64_t, 4> grid = chunk_grid(table.shape, table.chunk);
  const std::int64_t record_values = chunk_channels * chunk_rows * chunk_columns;
  const auto in_chunk = static_cast<std::uint64_t>(time % chunk_times * record_values) * sizeof(float);
  RecordReader reader(file, path, table, height, width, out);
  Part part;
  for (std::int64_t i = 0; i < grid[1]; ++i) {
    part.channel = i * chunk_channels;
    part.channels = std::min(chunk_channels, table.shape[1] - part.channel);
    for (std::int64_t j = 0; j * chunk_rows < height; ++j) {
      part.row = j * chunk_rows;
      part.rows = std::min(chunk_rows, height - part.row);
      for (std::int64_t k = 0; k * chunk_columns < width; ++k) {
        part.column = k * chunk_columns;
        part.columns = std::min(chunk_columns, width - part.column);
        const std::int64_t n = ((time / chunk_times * grid[1] + i) * grid[2] + j) * grid[3] + k;
        part.byte = table.chunks[static_cast<std::size_t>(n)];
        if (part.byte != kMissingChunk) part.byte += in_chunk;
        reader.read(part);
      }
    }
  }
}

}  // namespace isobar
