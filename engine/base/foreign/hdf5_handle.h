#pragma once
// HDF5 identifiers that close themselves, and its error stack as one sentence. For who holds the library.
#include <hdf5.h>

#include <string>
#include <utility>

namespace isobar {

/// Owns one hid_t; `close` is the H5?close of its kind.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }

  hid_t id() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Stops the library from printing its error stack; our errors carry its innermost sentence. Call before any
/// other call.
void quiet_hdf5();

/// The innermost message of the library's error stack, such as "truncated file: eof = 96, ...".
std::string hdf5_reason();

}  // namespace isobar
