#pragma once
// A file driver of the HDF5 library with one file only: the descriptor it was given. Whatever a file
// asks the library to open besides (external links, virtual sets), there is nothing to open it with; and no
// locks are taken.
#include <hdf5.h>

#include <cstdint>
#include <optional>

namespace isobar {

/// Where the library wanted to read values.
struct SeenRead {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

/// Sets `access` up so that H5Fopen reads from `descriptor`, whatever name it is given; once.
void use_one_file(hid_t access, int descriptor);

/// While one lives, reads of values are noted and not done. The library finds where a chunk lies by its
/// number only, in a time that grows with that number; reading it by place is fast, and this sees where it
/// would have read.
class ReadSpy {
 public:
  ReadSpy();
  ~ReadSpy();
  ReadSpy(const ReadSpy&) = delete;
  ReadSpy& operator=(const ReadSpy&) = delete;

  /// The last read since the one before, if there was any.
  std::optional<SeenRead> take();
};

}  // namespace isobar
