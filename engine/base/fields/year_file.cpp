#include "fields/year_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "core/files.h"
#include "fields/chunked_record.h"
#include "fields/scratch.h"
#include "foreign/h5_reader.h"
#include "foreign/h5_table.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {
constexpr const char* kUnchangedHint = "data must stay as it is while it is read";
}

struct YearFile::State {
  State(fs::path file_path, const H5Program& h5_program)
      : path(std::move(file_path)), program(h5_program), file(open_for_reading(path)) {
    status = current_status();
  }

  struct stat current_status() const {
    struct stat now {};
    if (fstat(file.number(), &now) != 0) throw system_error("cannot inspect the file", path.string(), errno);
    return now;
  }
  void check_unchanged() const;
  void read_contiguous(std::int64_t time, const RecordBox& box, std::span<float> out) const;
  void read_compressed(std::int64_t time, const RecordBox& box, std::span<float> out);

  fs::path path;
  H5Program program;
  FileDescriptor file;
  struct stat status {};  ///< when it was opened
  H5Table table;
  std::mutex mutex;                  ///< guards the reader
  std::unique_ptr<H5Reader> reader;  ///< compressed only, from the first record on
};

/// A data set that is still being copied under a running training would give it records of two data sets.
void YearFile::State::check_unchanged() const {
  const struct stat now = current_status();
  std::string change;
  if (now.st_size != status.st_size) {
    change = fmt::format("the file has {} bytes, it had {} when it was opened", now.st_size, status.st_size);
  } else if (now.st_nlink == 0 && status.st_nlink > 0) {
    change = "the file was removed or another put in its place since it was opened";
  } else {
    return;
  }
  throw Error(change, path.string(), kUnchangedHint);
}

void YearFile::State::read_contiguous(std::int64_t time, const RecordBox& box, std::span<float> out) const {
  const auto [times, channels, rows, columns] = table.shape;
  const auto read = [&](std::int64_t channel, std::span<float> to) {
    const std::int64_t first = ((time * channels + channel) * rows + box.first_row) * columns;
    pread_exactly(file, path, table.offset + static_cast<std::uint64_t>(first) * sizeof(float),
                  std::as_writable_bytes(to));
  };
  if (box.width == columns && (box.rows == rows || box.channels == 1)) return read(box.first_channel, out);
  const auto wide = static_cast<std::size_t>(box.rows * columns);
  const auto narrow = static_cast<std::size_t>(box.width);
  const Scratch band(wide);
  float* to = out.data();
  for (std::int64_t channel = box.first_channel; channel < box.first_channel + box.channels; ++channel) {
    read(channel, {band.data(), wide});
    for (std::int64_t row = 0; row < box.rows; ++row, to += box.width)
      std::memcpy(to, band.data() + row * columns, narrow * sizeof(float));
  }
}

void YearFile::State::read_compressed(std::int64_t time, const RecordBox& box, std::span<float> out) {
  const std::scoped_lock lock(mutex);
  if (!reader || !reader->is_alive()) {
    reader = std::make_unique<H5Reader>(program);
    if (reader->open(file, path).shape != table.shape) {
      reader.reset();
      throw Error("the file was changed since it was opened", path.string(), kUnchangedHint);
    }
  }
  reader->read(path, time, box.first_row, box.rows, box.width, out);
}

/// Opens files one after the other with one child.
class YearFileOpener {
 public:
  explicit YearFileOpener(const H5Program& program) : program_(program) {}

  OpenedYearFile open(const fs::path& path) {
    OpenedYearFile out;
    std::unique_ptr<YearFile::State> state;
    try {
      state = std::make_unique<YearFile::State>(path, program_);
    } catch (const Error& error) {
      out.error = error;
      return out;
    }
    if (!reader_ || !reader_->is_alive()) reader_ = std::make_unique<H5Reader>(program_);
    try {
      state->table = reader_->open(state->file, state->path);
      out.file = YearFile(std::move(state));
    } catch (const Error& error) {
      out.error = error;
      out.reader_failed = !reader_->is_alive();
    }
    return out;
  }

 private:
  const H5Program& program_;
  std::unique_ptr<H5Reader> reader_;
};

std::vector<OpenedYearFile> try_open_year_files(const std::vector<fs::path>& paths,
                                                const H5Program& program) {
  std::vector<OpenedYearFile> out;
  YearFileOpener opener(program);
  for (const fs::path& path : paths) out.push_back(opener.open(path));
  return out;
}

std::vector<YearFile> open_year_files(const std::vector<fs::path>& paths, const H5Program& program) {
  std::vector<YearFile> out;
  YearFileOpener opener(program);
  for (const fs::path& path : paths) {
    OpenedYearFile opened = opener.open(path);
    if (opened.error) throw Error(*opened.error);
    out.push_back(std::move(*opened.file));
  }
  return out;
}

YearFile::YearFile(const fs::path& path) : YearFile(std::move(open_year_files({path}).front())) {}
YearFile::YearFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
YearFile::~YearFile() = default;
YearFile::YearFile(YearFile&&) noexcept = default;
YearFile& YearFile::operator=(YearFile&&) noexcept = default;

const fs::path& YearFile::path() const { return state_->path; }
const std::array<std::int64_t, 4>& YearFile::shape() const { return state_->table.shape; }
FieldStorage YearFile::storage() const { return state_->table.storage; }
std::uint64_t YearFile::record_bytes() const {
  const auto& shape = state_->table.shape;
  return static_cast<std::uint64_t>(shape[1] * shape[2] * shape[3]) * 4;
}

namespace {

/// Errors while `body` runs get the name of the record.
template <typename Body>
void naming_record(std::int64_t time, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    throw Error(fmt::format("record {} cannot be read: {}", time, error.what()), error.where(), error.hint(),
                Exit::failed);
  }
}

bool lies_within(std::int64_t first, std::int64_t count, std::int64_t all) {
  return first >= 0 && count >= 1 && first < all && count <= all - first;
}

}  // namespace

void YearFile::read_record(std::int64_t time, std::int64_t height, std::int64_t width, std::span<float> out,
                           std::int64_t first_row) const {
  const auto [times, channels, rows, columns] = shape();
  const bool inside =
      lies_within(time, 1, times) && lies_within(first_row, height, rows) && lies_within(0, width, columns);
  if (!inside || static_cast<std::int64_t>(out.size()) != channels * height * width) {
    throw Error(
        fmt::format("record {}, {} x {} from row {} on was asked of a file with {} records of {} x {}", time,
                    height, width, first_row, times, rows, columns),
        path().string(), "", Exit::failed);
  }
  const RecordBox box{.channels = channels, .first_row = first_row, .rows = height, .width = width};
  naming_record(time, [&] {
    state_->check_unchanged();
    switch (storage()) {
      case FieldStorage::contiguous:
        return state_->read_contiguous(time, box, out);
      case FieldStorage::chunked:
        return read_chunked(state_->file, path(), state_->table, time, box, out);
      case FieldStorage::compressed:
        return state_->read_compressed(time, box, out);
    }
  });
}

void YearFile::read_rows(std::int64_t time, std::int64_t channel, std::int64_t first_row, std::int64_t rows,
                         std::int64_t width, std::span<float> out) const {
  const auto [times, channels, all_rows, columns] = shape();
  const bool inside = lies_within(time, 1, times) && lies_within(channel, 1, channels) &&
                      lies_within(first_row, rows, all_rows) && lies_within(0, width, columns);
  if (!inside || static_cast<std::int64_t>(out.size()) != rows * width ||
      storage() == FieldStorage::compressed) {
    throw Error(fmt::format("record {}, channel {}, {} rows of {} columns from row {} on were asked of a {} "
                            "file with {} records of {} x {} x {}",
                            time, channel, rows, width, first_row,
                            storage() == FieldStorage::compressed ? "compressed" : "plain", times, channels,
                            all_rows, columns),
                path().string(), "", Exit::failed);
  }
  const RecordBox box{channel, 1, first_row, rows, width};
  naming_record(time, [&] {
    if (storage() == FieldStorage::contiguous) return state_->read_contiguous(time, box, out);
    read_chunked(state_->file, path(), state_->table, time, box, out);
  });
}

void YearFile::check_unchanged(std::int64_t time) const {
  naming_record(time, [&] { state_->check_unchanged(); });
}

std::int64_t YearFile::chunk_rows() const {
  return storage() == FieldStorage::contiguous ? 1 : state_->table.chunk[2];
}

std::vector<std::string> YearFile::string_attribute(const std::string& name) const {
  const auto found = state_->table.attributes.find(name);
  return found == state_->table.attributes.end() ? std::vector<std::string>{} : found->second;
}

std::vector<fs::path> year_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, code)) {
    const std::string stem = entry.path().stem().string();
    const bool year = stem.size() >= 4 &&
                      std::all_of(stem.end() - 4, stem.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (entry.path().extension() == ".h5" && year) files.push_back(entry.path());
  }
  if (code || files.empty()) {
    throw Error(code ? "there is no such data folder" : "no year files are in the data folder",
                folder.string(), "files named like 1999.h5, whose names end in the year, are looked for");
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace isobar
