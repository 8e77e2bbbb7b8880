#include "fields/year_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/checked.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "fields/hdf5_handle.h"

namespace isobar {

namespace fs = std::filesystem;

void quiet_hdf5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

std::string hdf5_reason() {
  std::string reason;
  const auto keep_innermost = [](unsigned, const H5E_error2_t* error, void* out) -> herr_t {
    if (error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_innermost, &reason);
  return printable(reason, 200);
}

namespace {

constexpr const char* kDatasetName = "fields";
constexpr const char* kLayoutHint =
    "a year file holds one dataset `fields`, float32 [time, channel, lat, lon]";

[[noreturn]] void refuse(const fs::path& path, const std::string& reason,
                         const std::string& hint = kLayoutHint) {
  throw Error(reason, path.string(), hint);
}

Hdf5Handle open_file(const fs::path& path) {
  const FileDescriptor probe = open_for_reading(path);  // a clear message for what is no regular file
  if (H5Fis_hdf5(path.c_str()) <= 0) refuse(path, "not an HDF5 file", "data files are HDF5, one a year");
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_file_locking(access.id(), false, true);  // parallel file systems refuse locks; reading needs none
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose);
  if (!file) {
    const std::string reason = hdf5_reason();
    const bool cut = reason.find("truncated") != std::string::npos;
    refuse(
        path, "the HDF5 file cannot be opened: " + reason,
        cut ? "the file is shorter than its header promises; copy it again" : "is it damaged? copy it again");
  }
  return file;
}

void check_type(const Hdf5Handle& dataset, const fs::path& path) {
  const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose);
  if (!type || H5Tget_class(type.id()) != H5T_FLOAT || H5Tequal(type.id(), H5T_IEEE_F32LE) <= 0) {
    refuse(path, "dataset `fields` is not little-endian float32");
  }
}

std::array<std::int64_t, 4> checked_shape(const Hdf5Handle& dataset, const fs::path& path) {
  const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose);
  const int dims = space ? H5Sget_simple_extent_ndims(space.id()) : -1;
  if (dims != 4) refuse(path, fmt::format("dataset `fields` has {} dimensions, 4 are wanted", dims));
  std::array<hsize_t, 4> extents{};
  H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr);
  std::array<std::int64_t, 4> shape{};
  for (std::size_t d = 0; d < 4; ++d) {
    if (extents[d] < 1 || extents[d] > hsize_t{1} << 40) {
      refuse(path, fmt::format("dimension {} of dataset `fields` is {}", d, extents[d]));
    }
    shape[d] = static_cast<std::int64_t>(extents[d]);
  }
  if (!checked_product(shape, 4)) refuse(path, "dataset `fields` claims more bytes than can be counted");
  return shape;
}

FieldStorage storage_of(const Hdf5Handle& dataset, const fs::path& path) {
  const Hdf5Handle created(H5Dget_create_plist(dataset.id()), H5Pclose);
  if (!created) refuse(path, "dataset `fields` cannot be read: " + hdf5_reason());
  if (H5Pget_external_count(created.id()) > 0)
    refuse(path, "dataset `fields` keeps its values in other files");
  switch (H5Pget_layout(created.id())) {
    case H5D_CONTIGUOUS:
      return FieldStorage::contiguous;
    case H5D_CHUNKED:
      return H5Pget_nfilters(created.id()) > 0 ? FieldStorage::compressed : FieldStorage::chunked;
    default:
      refuse(path, "dataset `fields` is compact or virtual; contiguous or chunked is wanted");
  }
}

}  // namespace

struct YearFile::State {
  fs::path path;
  Hdf5Handle file;
  Hdf5Handle dataset;
  std::array<std::int64_t, 4> shape{};
  FieldStorage storage = FieldStorage::contiguous;
  FileDescriptor bytes;          // contiguous only
  std::uint64_t begin_byte = 0;  // contiguous only: first byte of record 0

  void find_bytes();
  void read_contiguous(std::int64_t time, std::int64_t height, std::int64_t width,
                       std::span<float> out) const;
  void read_through_library(std::int64_t time, std::int64_t height, std::int64_t width,
                            std::span<float> out) const;
};

void YearFile::State::find_bytes() {
  const haddr_t offset = H5Dget_offset(dataset.id());
  if (offset == HADDR_UNDEF) refuse(path, "dataset `fields` was declared but never written");
  bytes = open_for_reading(path);
  const std::uint64_t size = file_size(bytes, path);
  const auto wanted = static_cast<std::uint64_t>(*checked_product(shape, 4));
  begin_byte = offset;
  if (begin_byte > size || wanted > size - begin_byte) {
    refuse(path,
           fmt::format("the file has {}, its header promises {}", human_bytes(size),
                       human_bytes(begin_byte + wanted)),
           "the file was cut short; copy it again");
  }
}

void YearFile::State::read_contiguous(std::int64_t time, std::int64_t height, std::int64_t width,
                                      std::span<float> out) const {
  const auto [times, channels, rows, columns] = shape;
  const auto byte_of = [&](std::int64_t channel, std::int64_t row) {
    return begin_byte + static_cast<std::uint64_t>(((time * channels + channel) * rows + row) * columns) * 4;
  };
  if (height == rows && width == columns) {
    pread_exactly(bytes, path, byte_of(0, 0), std::as_writable_bytes(out));
    return;
  }
  std::vector<float> band(static_cast<std::size_t>(height * columns));
  float* to = out.data();
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    pread_exactly(bytes, path, byte_of(channel, 0), std::as_writable_bytes(std::span(band)));
    for (std::int64_t row = 0; row < height; ++row, to += width) {
      std::memcpy(to, band.data() + row * columns, static_cast<std::size_t>(width) * 4);
    }
  }
}

void YearFile::State::read_through_library(std::int64_t time, std::int64_t height, std::int64_t width,
                                           std::span<float> out) const {
  const std::array<hsize_t, 4> begin = {static_cast<hsize_t>(time), 0, 0, 0};
  const std::array<hsize_t, 4> count = {1, static_cast<hsize_t>(shape[1]), static_cast<hsize_t>(height),
                                        static_cast<hsize_t>(width)};
  const Hdf5Handle from(H5Dget_space(dataset.id()), H5Sclose);
  const Hdf5Handle to(H5Screate_simple(4, count.data(), nullptr), H5Sclose);
  H5Sselect_hyperslab(from.id(), H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr);
  if (H5Dread(dataset.id(), H5T_NATIVE_FLOAT, to.id(), from.id(), H5P_DEFAULT, out.data()) < 0) {
    throw Error(fmt::format("record {} cannot be read: {}", time, hdf5_reason()), path.string(),
                "is the file damaged, or its compression filter not installed?", Exit::failed);
  }
}

YearFile::YearFile(fs::path path) : state_(std::make_unique<State>()) {
  quiet_hdf5();
  state_->path = std::move(path);
  state_->file = open_file(state_->path);
  state_->dataset = Hdf5Handle(H5Dopen2(state_->file.id(), kDatasetName, H5P_DEFAULT), H5Dclose);
  if (!state_->dataset) refuse(state_->path, "there is no dataset `fields` in the file");
  check_type(state_->dataset, state_->path);
  state_->shape = checked_shape(state_->dataset, state_->path);
  state_->storage = storage_of(state_->dataset, state_->path);
  if (state_->storage == FieldStorage::contiguous) state_->find_bytes();
}

YearFile::~YearFile() = default;
YearFile::YearFile(YearFile&&) noexcept = default;
YearFile& YearFile::operator=(YearFile&&) noexcept = default;

const fs::path& YearFile::path() const { return state_->path; }
const std::array<std::int64_t, 4>& YearFile::shape() const { return state_->shape; }
FieldStorage YearFile::storage() const { return state_->storage; }
std::uint64_t YearFile::record_bytes() const {
  return static_cast<std::uint64_t>(state_->shape[1] * state_->shape[2] * state_->shape[3]) * 4;
}

void YearFile::read_record(std::int64_t time, std::int64_t height, std::int64_t width,
                           std::span<float> out) const {
  const auto [times, channels, rows, columns] = state_->shape;
  const bool inside =
      time >= 0 && time < times && height >= 1 && height <= rows && width >= 1 && width <= columns;
  if (!inside || static_cast<std::int64_t>(out.size()) != channels * height * width) {
    throw Error(fmt::format("record {}, {} x {} was asked of a file with {} records of {} x {}", time, height,
                            width, times, rows, columns),
                state_->path.string(), "", Exit::failed);
  }
  if (state_->storage == FieldStorage::contiguous) {
    state_->read_contiguous(time, height, width, out);
  } else {
    state_->read_through_library(time, height, width, out);
  }
}

std::vector<std::string> YearFile::string_attribute(const std::string& name) const {
  std::vector<std::string> out;
  if (H5Aexists(state_->dataset.id(), name.c_str()) <= 0) return out;
  const Hdf5Handle attribute(H5Aopen(state_->dataset.id(), name.c_str(), H5P_DEFAULT), H5Aclose);
  const Hdf5Handle type(H5Aget_type(attribute.id()), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute.id()), H5Sclose);
  const hssize_t count = space ? H5Sget_simple_extent_npoints(space.id()) : 0;
  // Fixed-length strings only (as this project writes them): variable-length ones are not worth trusting a
  // foreign file.
  if (!type || H5Tget_class(type.id()) != H5T_STRING || H5Tis_variable_str(type.id()) != 0) return out;
  const std::size_t length = H5Tget_size(type.id());
  if (count < 1 || count > 10'000 || length < 1 || length > 10'000) return out;
  std::string text(static_cast<std::size_t>(count) * length, '\0');
  if (H5Aread(attribute.id(), type.id(), text.data()) < 0) return out;
  for (std::size_t at = 0; at < text.size(); at += length) {
    const std::string word = text.substr(at, length);
    out.push_back(printable(word.substr(0, word.find('\0')), 100));
  }
  return out;
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
