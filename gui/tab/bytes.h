#pragma once
// Numbers as bytes, small ones in few: what a frame and the messages of a tab are made of.
#include <cstdint>
#include <string>
#include <string_view>

namespace isobar {

/// Seven bits a byte, the lowest first; the highest bit marks that more follows.
inline void put_number(std::string& out, std::uint64_t value) {
  while (value >= 128) {
    out += static_cast<char>((value & 127U) | 128U);
    value >>= 7U;
  }
  out += static_cast<char>(value);
}

/// Small either side of zero: 0, -1, 1, -2, 2 are 0, 1, 2, 3, 4.
inline void put_signed(std::string& out, std::int64_t value) {
  put_number(out, (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63U));
}

inline void put_words(std::string& out, std::string_view words) {
  put_number(out, words.size());
  out += words;
}

/// Takes the same apart. What is not there, too large, or longer than it need be makes it false for good;
/// then all that is read is 0.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}

  explicit operator bool() const { return good_; }
  bool at_end() const { return good_ && left_.empty(); }
  void fail() {
    good_ = false;
    left_ = {};
  }

  std::uint64_t number(std::uint64_t most) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 63 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 127U) << shift;
      if (byte < 128) {
        if (value > most || (byte == 0 && shift > 0)) break;
        return good_ ? value : 0;
      }
    }
    fail();
    return 0;
  }

  std::int64_t signed_number(std::int64_t most) {
    const std::uint64_t value = number(2 * static_cast<std::uint64_t>(most));
    return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U);
  }

  std::string_view words(std::uint64_t most) {
    const std::uint64_t size = number(most);
    if (size > left_.size()) fail();
    if (!good_) return {};
    const std::string_view out = left_.substr(0, size);
    left_.remove_prefix(size);
    return out;
  }

 private:
  std::string_view left_;
  bool good_ = true;
};

}  // namespace isobar
