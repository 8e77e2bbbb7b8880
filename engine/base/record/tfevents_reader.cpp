#include "record/tfevents_reader.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace isobar {
namespace {

constexpr std::uint64_t kMostBytesACall = 16U << 20;
constexpr std::uint64_t kWindowBytes = 1U << 20;

}  // namespace

TfEventsReader::TfEventsReader(std::filesystem::path path)
    : path_(std::move(path)), file_(open_for_reading(path_)) {}

TfEvents TfEventsReader::read_new() {
  TfEvents out;
  const std::uint64_t size = file_size(file_, path_);
  const std::uint64_t begin = offset_;
  while (!parser_.is_damaged() && !TfRecordParser::is_full(out) && offset_ - begin < kMostBytesACall) {
    if (size < offset_ || size - offset_ < parser_.wanted()) break;  // not whole yet
    std::string bytes(std::min(size - offset_, std::max(parser_.wanted(), kWindowBytes)), '\0');
    pread_exactly(file_, path_, offset_, std::as_writable_bytes(std::span(bytes)));
    offset_ += parser_.take(bytes, out);
  }
  return out;
}

}  // namespace isobar
