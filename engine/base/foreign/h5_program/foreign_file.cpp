#include "foreign/h5_program/foreign_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/checked.h"
#include "core/error.h"
#include "core/text.h"
#include "foreign/h5_program/string_attributes.h"
#include "foreign/h5_protocol.h"

namespace isobar {
namespace {

constexpr const char* kDatasetName = "fields";
constexpr const char* kLayoutHint =
    "a year file holds one dataset `fields`, float32 [time, channel, lat, lon]";
constexpr const char* kDamageHint = "is it damaged? copy it again";
constexpr std::int64_t kMostGroupBytes = 64'000'000;    // of one read, unless one chunk has more
constexpr std::int64_t kMostBufferBytes = 256'000'000;  // of one read; the library needs as much again

[[noreturn]] void refuse(const std::string& reason, const std::string& hint = kLayoutHint) {
  throw Error(reason, "", hint);
}

/// Whether the eight bytes of HDF5 stand at byte 0, 512, 1024, 2048, ..., where the format allows them.
bool has_signature(const FileDescriptor& file, std::uint64_t bytes) {
  static constexpr std::array<char, 8> kSignature = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
  std::array<char, 8> found{};
  for (std::uint64_t at = 0; at + found.size() <= bytes; at = at == 0 ? 512 : at * 2) {
    const ssize_t got = pread(file.number(), found.data(), found.size(), static_cast<off_t>(at));
    if (got == static_cast<ssize_t>(found.size()) && found == kSignature) return true;
  }
  return false;
}

Hdf5Handle open_hdf5(const FileDescriptor& descriptor, std::uint64_t bytes) {
  if (!has_signature(descriptor, bytes)) {
    refuse(bytes == 0 ? "the file is empty" : "not an HDF5 file",
           "data files are HDF5, one a year; if it was one, copy it again");
  }
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  use_one_file(access.id(), descriptor.number());
  Hdf5Handle file(H5Fopen("/year_file", H5F_ACC_RDONLY, access.id()), H5Fclose);
  if (file) return file;
  const std::string reason = hdf5_reason();
  const bool cut = reason.find("truncated") != std::string::npos;
  refuse(
      "the HDF5 file cannot be opened: " + reason,
      cut ? "the file is shorter than its header promises; copy it again" : "is it damaged? copy it again");
}

std::array<hsize_t, 4> as_extents(const std::array<std::int64_t, 4>& values) {
  std::array<hsize_t, 4> out{};
  std::transform(values.begin(), values.end(), out.begin(),
                 [](std::int64_t n) { return static_cast<hsize_t>(n); });
  return out;
}

std::array<std::int64_t, 4> as_values(const std::array<hsize_t, 4>& extents) {
  std::array<std::int64_t, 4> out{};
  std::transform(extents.begin(), extents.end(), out.begin(), [](hsize_t n) {
    constexpr auto kMost = static_cast<hsize_t>(std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(std::min(n, kMost));
  });
  return out;
}

/// What the library would give for values that were never written; nothing is as good as not a number.
float fill_value(hid_t created) {
  H5D_fill_value_t kind = H5D_FILL_VALUE_UNDEFINED;
  H5D_fill_time_t when = H5D_FILL_TIME_NEVER;
  H5Pfill_value_defined(created, &kind);
  H5Pget_fill_time(created, &when);
  float value = 0;
  const bool known = kind != H5D_FILL_VALUE_UNDEFINED && when != H5D_FILL_TIME_NEVER &&
                     H5Pget_fill_value(created, H5T_NATIVE_FLOAT, &value) >= 0;
  return known ? value : std::numeric_limits<float>::quiet_NaN();
}

void check_filters(hid_t created, int count) {
  for (int n = 0; n < count; ++n) {
    unsigned flags = 0;
    std::size_t values = 0;
    std::array<char, 64> name{};
    const H5Z_filter_t filter = H5Pget_filter2(created, static_cast<unsigned>(n), &flags, &values, nullptr,
                                               name.size(), name.data(), nullptr);
    name.back() = '\0';
    if (filter < 0) refuse("the compression of dataset `fields` cannot be read: " + hdf5_reason());
    if (H5Zfilter_avail(filter) <= 0) {
      refuse(fmt::format("dataset `fields` is compressed with filter {} ({}), which is not built in", filter,
                         printable(name.data(), 64)),
             "h5repack -f NONE writes a copy without compression, which is also read faster");
    }
  }
}

class Writer {
 public:
  template <typename T>
  void value(const T& value) {
    append(std::as_bytes(std::span(&value, 1)));
  }
  void text(const std::string& text) {
    value(static_cast<std::uint32_t>(text.size()));
    append(std::as_bytes(std::span(text)));
  }
  void append(std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

  std::vector<std::byte> bytes;
};

}  // namespace

ForeignFile::ForeignFile(FileDescriptor file)
    : descriptor_(std::move(file)),
      file_bytes_(file_size(descriptor_, "")),
      file_(open_hdf5(descriptor_, file_bytes_)) {
  check_link();
  dataset_ = Hdf5Handle(H5Dopen2(file_.id(), kDatasetName, H5P_DEFAULT), H5Dclose);
  if (!dataset_) refuse("`fields` in the file is no dataset that can be read: " + hdf5_reason());
  check_type();
  find_shape();
  find_storage();
  table_.attributes = string_attributes(dataset_.id());
}

void ForeignFile::check_link() const {
  if (H5Lexists(file_.id(), kDatasetName, H5P_DEFAULT) <= 0)
    refuse("there is no dataset `fields` in the file");
  H5L_info_t link{};
  if (H5Lget_info(file_.id(), kDatasetName, &link, H5P_DEFAULT) < 0) {
    refuse("the link to dataset `fields` cannot be read: " + hdf5_reason());
  }
  if (link.type == H5L_TYPE_SOFT) refuse("`fields` is a soft link, not a dataset");
  if (link.type == H5L_TYPE_EXTERNAL) refuse("`fields` is a link to another file, not a dataset");
  if (link.type != H5L_TYPE_HARD) refuse("`fields` is a link of an unknown kind, not a dataset");
}

void ForeignFile::check_type() const {
  const Hdf5Handle type(H5Dget_type(dataset_.id()), H5Tclose);
  if (!type || H5Tget_class(type.id()) != H5T_FLOAT || H5Tequal(type.id(), H5T_IEEE_F32LE) <= 0) {
    refuse("dataset `fields` is not little-endian float32");
  }
}

void ForeignFile::find_shape() {
  const Hdf5Handle space(H5Dget_space(dataset_.id()), H5Sclose);
  const int dims = space ? H5Sget_simple_extent_ndims(space.id()) : -1;
  if (dims != 4) refuse(fmt::format("dataset `fields` has {} dimensions, 4 are wanted", dims));
  std::array<hsize_t, 4> extents{};
  H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr);
  table_.shape = as_values(extents);
  if (const std::string problem = shape_problem(table_.shape); !problem.empty()) refuse(problem);
}

void ForeignFile::find_storage() {
  const Hdf5Handle created(H5Dget_create_plist(dataset_.id()), H5Pclose);
  if (!created) refuse("dataset `fields` cannot be read: " + hdf5_reason());
  if (H5Pget_external_count(created.id()) != 0) refuse("dataset `fields` keeps its values in other files");
  const H5D_layout_t layout = H5Pget_layout(created.id());
  if (layout == H5D_CONTIGUOUS) {
    find_offset();
    return;
  }
  if (layout == H5D_VIRTUAL) refuse("dataset `fields` is virtual: its values are in other files");
  if (layout != H5D_CHUNKED) refuse("dataset `fields` is compact; contiguous or chunked is wanted");
  std::array<hsize_t, 4> chunk{};
  if (H5Pget_chunk(created.id(), 4, chunk.data()) != 4)
    refuse("the chunks of dataset `fields` have another rank");
  table_.chunk = as_values(chunk);
  if (const std::string problem = chunk_problem(table_.shape, table_.chunk); !problem.empty())
    refuse(problem);
  const int filters = H5Pget_nfilters(created.id());
  if (filters < 0) refuse("the compression of dataset `fields` cannot be read: " + hdf5_reason());
  table_.storage = filters > 0 ? FieldStorage::compressed : FieldStorage::chunked;
  table_.fill = fill_value(created.id());
  if (filters == 0) {
    find_chunks();
    return;
  }
  check_filters(created.id(), filters);
  if (H5Dget_storage_size(dataset_.id()) == 0) refuse("dataset `fields` was declared but never written");
}

void ForeignFile::find_offset() {
  const haddr_t offset = H5Dget_offset(dataset_.id());
  if (offset == HADDR_UNDEF) refuse("dataset `fields` was declared but never written");
  table_.offset = offset;
}

/// The first byte of the chunk whose first value is at `corner`, or kMissingChunk when the library finds
/// none.
std::uint64_t ForeignFile::chunk_offset(const std::array<hsize_t, 4>& corner, std::uint64_t bytes,
                                        ReadSpy& spy) const {
  std::uint32_t mask = 0;
  std::byte untouched{};  // the spy lets nothing be read
  H5Dread_chunk(dataset_.id(), H5P_DEFAULT, corner.data(), &mask, &untouched);
  const std::optional<SeenRead> seen = spy.take();
  if (!seen) return kMissingChunk;
  if (seen->bytes == bytes) return seen->begin;
  refuse(fmt::format("a chunk of dataset `fields` has {} bytes, {} are wanted", seen->bytes, bytes),
         kDamageHint);
}

void ForeignFile::find_chunks() {
  const auto bytes = static_cast<std::uint64_t>(*checked_product(table_.chunk, 4));
  const std::array<std::int64_t, 4> grid = chunk_grid(table_.shape, table_.chunk);
  const std::int64_t count = *checked_product(grid);
  table_.chunks.reserve(static_cast<std::size_t>(count));
  ReadSpy spy;
  for (std::int64_t n = 0; n < count; ++n) {
    std::array<std::int64_t, 4> corner{};
    std::int64_t rest = n;
    for (std::size_t d = 4; d-- > 0; rest /= grid[d]) corner[d] = rest % grid[d] * table_.chunk[d];
    table_.chunks.push_back(chunk_offset(as_extents(corner), bytes, spy));
  }
  // A damaged index looks like missing chunks, unless they are counted another way too.
  const auto missing = std::count(table_.chunks.begin(), table_.chunks.end(), kMissingChunk);
  hsize_t listed = 0;
  const Hdf5Handle all(H5Dget_space(dataset_.id()), H5Sclose);
  if (H5Dget_num_chunks(dataset_.id(), all.id(), &listed) < 0) {
    refuse("the chunks of dataset `fields` cannot be counted: " + hdf5_reason(), kDamageHint);
  }
  if (listed != static_cast<hsize_t>(count - missing)) {
    refuse(fmt::format("dataset `fields` lists {} chunks, {} can be found", listed, count - missing),
           kDamageHint);
  }
}

std::vector<std::byte> ForeignFile::table() const {
  H5TableHead head;
  head.shape = table_.shape;
  head.chunk = table_.chunk;
  head.offset = table_.offset;
  head.chunks = table_.chunks.size();
  head.storage = static_cast<std::uint32_t>(table_.storage);
  head.fill = table_.fill;
  head.attributes = static_cast<std::uint32_t>(table_.attributes.size());
  Writer writer;
  writer.value(head);
  writer.append(std::as_bytes(std::span(table_.chunks)));
  for (const auto& [name, values] : table_.attributes) {
    writer.text(name);
    writer.value(static_cast<std::uint32_t>(values.size()));
    for (const std::string& value : values) writer.text(value);
  }
  decode_table(writer.bytes, file_bytes_, "");  // refuses what the other side would
  return std::move(writer.bytes);
}

void ForeignFile::read(const H5Request& wanted,
                       const std::function<void(std::span<const float>)>& take) const {
  const auto [times, channels, rows, columns] = table_.shape;
  const auto& [magic, ask, time, height, width, first_row] = wanted;
  const bool has_rows = first_row >= 0 && first_row < rows && height >= 1 && height <= rows - first_row;
  if (time < 0 || time >= times || !has_rows || width < 1 || width > columns) {
    refuse("there is no such part of a record");
  }
  // Groups of channels that share no chunk, so that none is decompressed twice.
  const std::int64_t step = table_.storage == FieldStorage::contiguous ? 1 : table_.chunk[1];
  const std::int64_t step_bytes = step * height * width * 4;
  const std::int64_t group = step * std::max<std::int64_t>(1, kMostGroupBytes / step_bytes);
  if (step_bytes > kMostBufferBytes)
    refuse("the chunks of dataset `fields` are too large to be decompressed");
  std::vector<float> values;
  for (std::int64_t channel = 0; channel < channels; channel += group) {
    const std::int64_t count = std::min(group, channels - channel);
    values.assign(static_cast<std::size_t>(count * height * width), table_.fill);
    const std::array<hsize_t, 4> begin = as_extents({time, channel, first_row, 0});
    const std::array<hsize_t, 4> extent = as_extents({1, count, height, width});
    const Hdf5Handle from(H5Dget_space(dataset_.id()), H5Sclose);
    const Hdf5Handle to(H5Screate_simple(4, extent.data(), nullptr), H5Sclose);
    H5Sselect_hyperslab(from.id(), H5S_SELECT_SET, begin.data(), nullptr, extent.data(), nullptr);
    if (H5Dread(dataset_.id(), H5T_NATIVE_FLOAT, to.id(), from.id(), H5P_DEFAULT, values.data()) < 0) {
      refuse(hdf5_reason(), "was the file cut or damaged? copy it again");
    }
    take(values);
  }
}

}  // namespace isobar
