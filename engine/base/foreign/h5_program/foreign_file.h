#pragma once
// A foreign HDF5 file under the rules of a year file; runs in `isobar-h5` only.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/files.h"
#include "foreign/h5_program/one_file_driver.h"
#include "foreign/h5_protocol.h"
#include "foreign/h5_table.h"
#include "foreign/hdf5_handle.h"

namespace isobar {

class ForeignFile {
 public:
  /// Error, without a place, when the file is not a year file or cannot be trusted.
  explicit ForeignFile(FileDescriptor file);

  /// H5TableHead, chunk offsets, attributes, in the form of h5_protocol.h. Error when values would lie
  /// outside of the file.
  std::vector<std::byte> table() const;

  /// Hands the values that `wanted` names to `take`, some channels at a time.
  void read(const H5Request& wanted, const std::function<void(std::span<const float>)>& take) const;

 private:
  void check_link() const;
  void check_type() const;
  void find_shape();
  void find_storage();
  void find_offset();
  void find_chunks();
  std::uint64_t chunk_offset(const std::array<hsize_t, 4>& corner, std::uint64_t bytes, ReadSpy& spy) const;

  FileDescriptor descriptor_;  // outlives the library's handles on it
  std::uint64_t file_bytes_;
  Hdf5Handle file_;
  Hdf5Handle dataset_;
  H5Table table_;
};

}  // namespace isobar
