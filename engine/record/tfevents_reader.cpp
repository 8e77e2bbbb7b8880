#include "record/tfevents_reader.h"

#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <span>
#include <utility>

#include "record/tfevents_writer.h"

namespace isobar {
namespace {

constexpr std::uint64_t kMostRecordBytes = 64U << 20;
constexpr std::uint64_t kHeadBytes = 12;  // length and its checksum
constexpr std::uint64_t kTailBytes = 4;   // checksum of the data

std::uint32_t word_at(const std::string& bytes, std::size_t at) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof(word));
  return word;
}

using protozero::pbf_wire_type;

/// A field as the format has it; one of another wire type is skipped like an unknown one.
constexpr std::uint32_t field(protozero::pbf_tag_type tag, pbf_wire_type type) {
  return protozero::tag_and_type(tag, type);
}

/// A scalar kept as a tensor, as newer writers do: DT_FLOAT (1) or DT_DOUBLE (2), in content or as a list of
/// one.
bool read_tensor_scalar(protozero::pbf_reader tensor, double& out) {
  int type = 0;
  bool found = false;
  std::string content;
  while (tensor.next()) {
    switch (tensor.tag_and_type()) {
      case field(1, pbf_wire_type::varint):
        type = tensor.get_enum();
        break;
      case field(4, pbf_wire_type::length_delimited):
        content = tensor.get_string();
        break;
      case field(5, pbf_wire_type::length_delimited):
        for (const float value : tensor.get_packed_float()) {
          out = static_cast<double>(value);
          found = true;
        }
        break;
      default:
        tensor.skip();
    }
  }
  if (type == 1 && content.size() == sizeof(float)) {
    float value = 0;
    std::memcpy(&value, content.data(), sizeof(value));
    out = static_cast<double>(value);
    return true;
  }
  if (type == 2 && content.size() == sizeof(double)) {
    std::memcpy(&out, content.data(), sizeof(out));
    return true;
  }
  return found && type == 1;
}

std::string read_png(protozero::pbf_reader picture) {
  std::string png;
  while (picture.next()) {
    if (picture.tag_and_type() == field(4, pbf_wire_type::length_delimited)) {
      png = picture.get_string();
    } else {
      picture.skip();
    }
  }
  return png;
}

void read_value(protozero::pbf_reader value, std::int64_t step, double wall_time_s, TfEvents& out) {
  TfScalar scalar{"", step, wall_time_s, 0};
  TfImage image{"", step, ""};
  bool is_scalar = false;
  while (value.next()) {
    switch (value.tag_and_type()) {
      case field(1, pbf_wire_type::length_delimited):
        scalar.tag = value.get_string();
        break;
      case field(2, pbf_wire_type::fixed32):
        scalar.value = static_cast<double>(value.get_float());
        is_scalar = true;
        break;
      case field(4, pbf_wire_type::length_delimited):
        image.png = read_png(value.get_message());
        break;
      case field(8, pbf_wire_type::length_delimited):
        is_scalar = read_tensor_scalar(value.get_message(), scalar.value);
        break;
      default:
        value.skip();
    }
  }
  image.tag = scalar.tag;
  if (is_scalar) out.scalars.push_back(std::move(scalar));
  if (!image.png.empty()) out.images.push_back(std::move(image));
}

/// Wall time and step come before the summary or after it: the summary is read last.
void read_event(const std::string& bytes, TfEvents& out) {
  double wall_time_s = 0;
  std::int64_t step = 0;
  protozero::pbf_reader event(bytes);
  protozero::pbf_reader summary;
  while (event.next()) {
    switch (event.tag_and_type()) {
      case field(1, pbf_wire_type::fixed64):
        wall_time_s = event.get_double();
        break;
      case field(2, pbf_wire_type::varint):
        step = event.get_int64();
        break;
      case field(5, pbf_wire_type::length_delimited):
        summary = event.get_message();
        break;
      default:
        event.skip();
    }
  }
  while (summary.next()) {
    if (summary.tag_and_type() == field(1, pbf_wire_type::length_delimited)) {
      read_value(summary.get_message(), step, wall_time_s, out);
    } else {
      summary.skip();
    }
  }
}

}  // namespace

TfEventsReader::TfEventsReader(std::filesystem::path path)
    : path_(std::move(path)), file_(open_for_reading(path_)) {}

TfEvents TfEventsReader::read_new() {
  TfEvents out;
  const std::uint64_t size = file_size(file_, path_);
  while (!damaged_ && size >= offset_ + kHeadBytes) {
    std::string head(kHeadBytes, '\0');
    pread_exactly(file_, path_, offset_, std::as_writable_bytes(std::span(head)));
    std::uint64_t length = 0;
    std::memcpy(&length, head.data(), sizeof(length));
    if (word_at(head, 8) != masked_crc32c(head.substr(0, 8)) || length > kMostRecordBytes) {
      damaged_ = true;
      break;
    }
    if (size - offset_ - kHeadBytes < length + kTailBytes) break;  // not whole yet
    std::string bytes(length + kTailBytes, '\0');
    pread_exactly(file_, path_, offset_ + kHeadBytes, std::as_writable_bytes(std::span(bytes)));
    offset_ += kHeadBytes + length + kTailBytes;
    const std::uint32_t checksum = word_at(bytes, length);
    bytes.resize(length);
    TfEvents found;
    try {
      if (checksum != masked_crc32c(bytes)) throw protozero::exception();
      read_event(bytes, found);
    } catch (const protozero::exception&) {
      ++skipped_;
      continue;
    }
    out.scalars.insert(out.scalars.end(), found.scalars.begin(), found.scalars.end());
    out.images.insert(out.images.end(), found.images.begin(), found.images.end());
  }
  return out;
}

}  // namespace isobar
