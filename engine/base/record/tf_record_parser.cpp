#include "record/tf_record_parser.h"

#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <utility>

#include "record/tfevents_writer.h"

namespace isobar {
namespace {

constexpr std::uint64_t kMostRecordBytes = 64U << 20;
constexpr std::uint64_t kTailBytes = 4;  // checksum of the data
// Seven bytes of a file can make a value that takes sixty here.
constexpr std::size_t kMostValuesARecord = 1 << 16;
constexpr std::size_t kMostValuesACall = 1 << 18;

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
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
void read_event(std::string_view bytes, TfEvents& out) {
  double wall_time_s = 0;
  std::int64_t step = 0;
  protozero::pbf_reader event(bytes.data(), bytes.size());
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
  std::size_t values = 0;
  while (summary.next()) {
    if (summary.tag_and_type() == field(1, pbf_wire_type::length_delimited)) {
      if (++values > kMostValuesARecord) throw protozero::exception();
      read_value(summary.get_message(), step, wall_time_s, out);
    } else {
      summary.skip();
    }
  }
}

}  // namespace

bool TfRecordParser::is_full(const TfEvents& events) {
  return events.scalars.size() + events.images.size() >= kMostValuesACall;
}

std::size_t TfRecordParser::take(std::string_view bytes, TfEvents& out) {
  std::size_t used = 0;
  while (!damaged_ && !is_full(out)) {
    const std::string_view rest = bytes.substr(used);
    if (rest.size() < kHeadBytes) break;
    std::uint64_t length = 0;
    std::memcpy(&length, rest.data(), sizeof(length));
    if (word_at(rest, sizeof(length)) != masked_crc32c(rest.substr(0, sizeof(length))) ||
        length > kMostRecordBytes) {
      damaged_ = true;
      break;
    }
    wanted_ = kHeadBytes + length + kTailBytes;
    if (rest.size() < wanted_) break;
    used += wanted_;
    wanted_ = kHeadBytes;
    const std::string_view data = rest.substr(kHeadBytes, length);
    const std::size_t scalars = out.scalars.size();
    const std::size_t images = out.images.size();
    try {
      if (word_at(rest, kHeadBytes + length) != masked_crc32c(data)) throw protozero::exception();
      read_event(data, out);
    } catch (const protozero::exception&) {
      out.scalars.resize(scalars);
      out.images.resize(images);
      ++skipped_;
    }
  }
  return used;
}

}  // namespace isobar
