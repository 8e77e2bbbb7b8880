#include "fields/chunked_record.h"

#include <algorithm>
#include <array>

#include "fields/scratch.h"
#include "foreign/h5_protocol.h"

namespace isobar {
namespace {

/// The part of a record that lies in one chunk: `channels` x `rows` x `columns` values from its corner.
struct Part {
  std::int64_t channel = 0, row = 0, column = 0;  ///< place of the corner
  std::int64_t channels = 0, rows = 0, columns = 0;
  std::uint64_t byte = 0;  ///< place of the corner in the file, or kMissingChunk
};

class BoxReader {
 public:
  BoxReader(const FileDescriptor& file, const std::filesystem::path& path, const H5Table& table,
            const RecordBox& box, std::span<float> out)
      : file_(file), path_(path), table_(table), box_(box), out_(out) {}

  void read(const Part& part) {
    const auto [chunk_times, chunk_channels, chunk_rows, chunk_columns] = table_.chunk;
    const bool rows_touch = chunk_columns == box_.width;  // in `out` as in the chunk
    const bool planes_touch = rows_touch && chunk_rows == box_.rows && chunk_rows == part.rows;
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
    const std::int64_t plane = channel - box_.first_channel;
    const std::int64_t line = plane * box_.rows + row - box_.first_row;
    return out_.subspan(static_cast<std::size_t>(line * box_.width + column),
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
    const Scratch copy(static_cast<std::size_t>(wanted));
    if (part.rows == table_.chunk[2]) {
      pread_floats(part.byte, {copy.data(), static_cast<std::size_t>(wanted)});
    } else {
      for (std::int64_t c = 0; c < part.channels; ++c) {
        pread_floats(part.byte + bytes(c * plane),
                     {copy.data() + c * plane, static_cast<std::size_t>(part.rows * table_.chunk[3])});
      }
    }
    for_each_row(part, [&](std::span<float> to, std::int64_t from) {
      std::copy_n(copy.data() + from, to.size(), to.begin());
    });
  }

  const FileDescriptor& file_;
  const std::filesystem::path& path_;
  const H5Table& table_;
  const RecordBox& box_;
  std::span<float> out_;
};

}  // namespace

void read_chunked(const FileDescriptor& file, const std::filesystem::path& path, const H5Table& table,
                  std::int64_t time, const RecordBox& box, std::span<float> out) {
  const auto [chunk_times, chunk_channels, chunk_rows, chunk_columns] = table.chunk;
  const std::array<std::int64_t, 4> grid = chunk_grid(table.shape, table.chunk);
  const std::int64_t before = time % chunk_times * chunk_channels;  // planes of other records in a chunk
  const std::int64_t end_channel = box.first_channel + box.channels;
  const std::int64_t end_row = box.first_row + box.rows;
  BoxReader reader(file, path, table, box, out);
  Part part;
  for (std::int64_t i = box.first_channel / chunk_channels; i * chunk_channels < end_channel; ++i) {
    part.channel = std::max(box.first_channel, i * chunk_channels);
    part.channels = std::min((i + 1) * chunk_channels, end_channel) - part.channel;
    for (std::int64_t j = box.first_row / chunk_rows; j * chunk_rows < end_row; ++j) {
      part.row = std::max(box.first_row, j * chunk_rows);
      part.rows = std::min((j + 1) * chunk_rows, end_row) - part.row;
      const std::int64_t line = (before + part.channel % chunk_channels) * chunk_rows + part.row % chunk_rows;
      for (std::int64_t k = 0; k * chunk_columns < box.width; ++k) {
        part.column = k * chunk_columns;
        part.columns = std::min(chunk_columns, box.width - part.column);
        const std::int64_t n = ((time / chunk_times * grid[1] + i) * grid[2] + j) * grid[3] + k;
        part.byte = table.chunks[static_cast<std::size_t>(n)];
        if (part.byte != kMissingChunk) {
          part.byte += static_cast<std::uint64_t>(line * chunk_columns) * sizeof(float);
        }
        reader.read(part);
      }
    }
  }
}

}  // namespace isobar
