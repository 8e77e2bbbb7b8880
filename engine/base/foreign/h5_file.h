#pragma once
// What the program isobar-h5 finds out about an HDF5 file, and how it is reached.
#include <filesystem>

namespace isobar {

/// How one record lies in the file, which decides how it is read.
enum class FieldStorage {
  contiguous,  ///< one run of bytes: read by offset
  chunked,     ///< uncompressed chunks: read by their offsets
  compressed   ///< filtered chunks, through the HDF5 library in a process of its own: much slower
};

/// The program that holds the HDF5 library, and how long it may be silent. Only tests name another.
struct H5Program {
  std::filesystem::path path = {};  ///< empty: `isobar-h5` beside the running program
  int patience_ms = 10'000;
};

}  // namespace isobar
