#pragma once
// TensorBoard's event files, written live: scalars and images under the tags of the ERA5 tutorial.
// Format: tensorflow/core/lib/io/record_writer.h and tensorflow/core/util/event.proto (field numbers).
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/files.h"

namespace isobar {

class TfEventsWriter {
 public:
  /// Makes `folder` and in it events.out.tfevents.<seconds>.<host>.<pid>.
  TfEventsWriter(const std::filesystem::path& folder, const std::string& host);

  void scalar(std::string_view tag, double value, std::int64_t step);
  /// `png` is an encoded image of `height` x `width` pixels.
  void image(std::string_view tag, std::string_view png, std::int64_t height, std::int64_t width,
             std::int64_t step);

  const std::filesystem::path& path() const { return path_; }

 private:
  void write_event(std::int64_t step, const std::string& summary_value);
  void write_record(const std::string& bytes);

  std::filesystem::path path_;
  FileDescriptor file_;
};

/// The checksum as event files hold it: rotated and shifted, since a checksum of a checksum is a bad one.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace isobar
