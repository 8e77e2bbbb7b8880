#include "record/tfevents_reader.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "core/files.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::uint64_t kMostBytesACall = 16U << 20;
constexpr std::uint64_t kWindowBytes = 1U << 20;

/// What packed a file, by its first bytes; "" for none that is known.
std::string packed_by(std::string_view begin) {
  constexpr std::pair<std::string_view, const char*> kKinds[] = {{"\x1f\x8b", "gzip"},
                                                                 {"BZh", "bzip2"},
                                                                 {"\xfd"
                                                                  "7zXZ",
                                                                  "xz"},
                                                                 {"\x28\xb5\x2f\xfd", "zstd"}};
  for (const auto& [bytes, name] : kKinds) {
    if (begin.starts_with(bytes)) return name;
  }
  return "";
}

}  // namespace

TfEventsReader::TfEventsReader(std::filesystem::path path) : path_(std::move(path)) {
  const FileDescriptor can_be_opened = open_for_reading(path_);
}

TfEvents TfEventsReader::read_new() {
  TfEvents out;
  std::error_code code;
  const std::uintmax_t seen = std::filesystem::file_size(path_, code);
  if (!problem_.empty() || (!code && seen == offset_)) return out;
  const FileDescriptor file = open_for_reading(path_);
  const std::uint64_t size = file_size(file, path_);
  if (size < offset_) {
    problem_ = "it became shorter while it was read; what is new in it is left out";
    return out;
  }
  const std::uint64_t begin = offset_;
  while (!parser_.is_damaged() && !TfRecordParser::is_full(out) && offset_ - begin < kMostBytesACall) {
    if (size - offset_ < parser_.wanted()) break;  // not whole yet
    std::string bytes(std::min(size - offset_, std::max(parser_.wanted(), kWindowBytes)), '\0');
    pread_exactly(file, path_, offset_, std::as_writable_bytes(std::span(bytes)));
    const bool is_begin = offset_ == 0;
    offset_ += parser_.take(bytes, out);
    if (!parser_.is_damaged()) continue;
    const std::string packed = is_begin ? packed_by(bytes) : "";
    problem_ = !packed.empty()
                   ? "it is compressed (" + packed + "): unpack it, event files are read as they are"
                   : "it is damaged; the last " + human_bytes(size - offset_) + " are left out";
  }
  return out;
}

}  // namespace isobar
