#pragma once
// A pack: small files in one ustar archive, as `tar --format=ustar` writes and lists it. What tar would pass
// over is refused, so that a test never runs on fewer inputs than were packed.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/files.h"

namespace isobar {

struct PackedFile {
  std::string name;
  std::string bytes;
};

constexpr std::size_t kPackBlock = 512;
constexpr std::uint64_t kMostPackBytes = 16 << 20;

[[noreturn]] inline void refuse_pack(const std::string& what, const std::string& where) {
  throw Error(what, where, "take the committed file again, or write it with tests/fuzz/run.sh pack");
}

/// Digits of a field of a header, which a NUL or a blank ends; -1 when there is anything else.
inline std::int64_t octal_of(std::string_view field) {
  std::int64_t value = 0;
  const std::size_t digits = std::min(field.find_first_not_of("01234567"), field.size());
  if (digits == 0 || digits > 11) return -1;
  for (const char c : field.substr(0, digits)) value = 8 * value + (c - '0');
  return field.find_first_not_of(std::string_view("\0 ", 2), digits) == std::string_view::npos ? value : -1;
}

/// The sum of the header's bytes, its own field counted as blanks.
inline std::int64_t checksum_of(std::string_view header) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kPackBlock; ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  return sum;
}

inline bool is_blank(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

/// The files of an archive in their order. Refused: a damaged header, anything but plain files in one folder,
/// a length past the end, a missing end mark or bytes behind it, and a pack without files.
inline std::vector<PackedFile> parse_pack(std::string_view archive, const std::string& where) {
  std::vector<PackedFile> files;
  std::size_t at = 0;
  const auto next = [&](std::size_t size) {
    if (archive.size() - at < size) refuse_pack("the pack is cut off at byte " + std::to_string(at), where);
    at += size;
    return archive.substr(at - size, size);
  };
  for (;;) {
    const std::string place = where + ": byte " + std::to_string(at);
    const std::string_view header = next(kPackBlock);
    if (is_blank(header)) break;
    if (header.substr(257, 5) != "ustar") refuse_pack("not a header of a ustar archive", place);
    if (octal_of(header.substr(148, 8)) != checksum_of(header)) refuse_pack("a header is damaged", place);
    const std::string name(header.substr(0, std::min<std::size_t>(header.find('\0'), 100)));
    const bool is_plain_name = !name.empty() && name[0] != '.' && name.find('/') == std::string::npos;
    if (header[156] != '0' || header[345] != '\0' || !is_plain_name)
      refuse_pack("a pack holds plain files of one folder and nothing else", place);
    for (const PackedFile& file : files)
      if (file.name == name) refuse_pack("the name " + name + " stands twice", place);
    const std::int64_t size = octal_of(header.substr(124, 12));
    if (size < 0) refuse_pack("the length of " + name + " is no number", place);
    if (static_cast<std::uint64_t>(size) > archive.size() - at)
      refuse_pack(name + " claims " + std::to_string(size) + " bytes, more than are left", place);
    const std::size_t bytes = static_cast<std::size_t>(size);
    files.push_back({name, std::string(next(bytes))});
    next((kPackBlock - bytes % kPackBlock) % kPackBlock);
  }
  if (!is_blank(next(kPackBlock))) refuse_pack("the end mark is damaged", where);
  if (at != archive.size()) refuse_pack("bytes behind the end mark", where);
  if (files.empty()) refuse_pack("the pack holds no files", where);
  return files;
}

inline std::vector<PackedFile> read_pack(const std::filesystem::path& path) {
  return parse_pack(read_text_file(path, kMostPackBytes), path.string());
}

}  // namespace isobar
