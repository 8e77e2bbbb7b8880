#include "fields/year_file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/checked.h"
#include "core/error.h"
#include "core/files.h"
#include "foreign/hdf5_handle.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void failed(const fs::path& path, const std::string& doing) {
  throw Error(doing + ": " + hdf5_reason(), path.string(), "", Exit::failed);
}

void write_strings(hid_t dataset, const fs::path& path, const char* name,
                   const std::vector<std::string>& values) {
  if (values.empty()) return;
  std::size_t length = 1;
  for (const std::string& value : values) length = std::max(length, value.size());
  std::string bytes;
  for (const std::string& value : values) bytes += value + std::string(length - value.size(), '\0');
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), length);
  H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  const hsize_t count = values.size();
  const Hdf5Handle space(values.size() == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr),
                         H5Sclose);
  const Hdf5Handle attribute(H5Acreate2(dataset, name, type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose);
  if (!attribute || H5Awrite(attribute.id(), type.id(), bytes.data()) < 0)
    failed(path, "an attribute cannot be written");
}

void write_floats(hid_t dataset, const fs::path& path, const char* name, const std::vector<float>& values) {
  if (values.empty()) return;
  const hsize_t count = values.size();
  const Hdf5Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Hdf5Handle attribute(H5Acreate2(dataset, name, H5T_IEEE_F32LE, space.id(), H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose);
  if (!attribute || H5Awrite(attribute.id(), H5T_NATIVE_FLOAT, values.data()) < 0) {
    failed(path, "an attribute cannot be written");
  }
}

/// Makes the HDF5 file with its space reserved and closes it; returns the byte of record 0. The records are
/// then written by offset, so a failing disk is seen at the write that fails.
std::uint64_t create(const fs::path& path, const std::array<std::int64_t, 4>& shape,
                     const FieldsDescription& about) {
  quiet_hdf5();
  const Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  if (!file) failed(path, "the HDF5 file cannot be created");
  std::array<hsize_t, 4> extents{};
  std::transform(shape.begin(), shape.end(), extents.begin(),
                 [](std::int64_t n) { return static_cast<hsize_t>(n); });
  const Hdf5Handle space(H5Screate_simple(4, extents.data(), nullptr), H5Sclose);
  const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_layout(properties.id(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(properties.id(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(properties.id(), H5D_FILL_TIME_NEVER);
  const Hdf5Handle dataset(
      H5Dcreate2(file.id(), "fields", H5T_IEEE_F32LE, space.id(), H5P_DEFAULT, properties.id(), H5P_DEFAULT),
      H5Dclose);
  if (!dataset) failed(path, "dataset `fields` cannot be created");
  write_strings(dataset.id(), path, "channel_names", about.channel_names);
  write_strings(dataset.id(), path, "units", about.units);
  write_strings(dataset.id(), path, "source", {about.source});
  write_floats(dataset.id(), path, "latitude", about.latitudes_deg);
  write_floats(dataset.id(), path, "longitude", about.longitudes_deg);
  const haddr_t offset = H5Dget_offset(dataset.id());
  if (offset == HADDR_UNDEF || H5Fflush(file.id(), H5F_SCOPE_GLOBAL) < 0)
    failed(path, "the file cannot be laid out");
  return offset;
}

}  // namespace

struct YearFileWriter::State {
  fs::path path;
  fs::path part;
  std::array<std::int64_t, 4> shape{};
  FileDescriptor file;
  std::int64_t written = 0;
  bool finished = false;
};

YearFileWriter::YearFileWriter(fs::path path, std::array<std::int64_t, 4> shape,
                               const FieldsDescription& description)
    : state_(std::make_unique<State>()) {
  state_->path = std::move(path);
  state_->part = state_->path.string() + ".part";
  state_->shape = shape;
  const std::uint64_t begin_byte = create(state_->part, shape, description);
  state_->file = FileDescriptor(::open(state_->part.c_str(), O_WRONLY | O_CLOEXEC));
  if (!state_->file.is_open()) throw system_error("cannot open the file", state_->part.string(), errno);
  if (lseek(state_->file.number(), static_cast<off_t>(begin_byte), SEEK_SET) < 0) {
    throw system_error("cannot move in the file", state_->part.string(), errno);
  }
}

YearFileWriter::~YearFileWriter() {
  if (!state_->finished) ::unlink(state_->part.c_str());
}

void YearFileWriter::append(std::span<const float> record) {
  const auto values = static_cast<std::size_t>(*checked_product(std::span(state_->shape).subspan(1)));
  if (record.size() != values || state_->written == state_->shape[0]) {
    throw Error(fmt::format("record {} of {} with {} values does not fit", state_->written, state_->shape[0],
                            record.size()),
                state_->path.string(), "", Exit::failed);
  }
  write_fully(state_->file, state_->part, std::as_bytes(record));
  ++state_->written;
}

void YearFileWriter::finish() {
  if (state_->written != state_->shape[0]) {
    throw Error(fmt::format("{} of {} records were written", state_->written, state_->shape[0]),
                state_->path.string(), "", Exit::failed);
  }
  if (fsync(state_->file.number()) != 0)
    throw system_error("cannot make the file durable", state_->part.string(), errno);
  if (::rename(state_->part.c_str(), state_->path.c_str()) != 0) {
    throw system_error("cannot put the file in place", state_->path.string(), errno);
  }
  state_->finished = true;
  state_->file.close();
  sync_folder(state_->path.parent_path());
}

}  // namespace isobar
