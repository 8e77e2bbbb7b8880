#include "record/tf_record_parser.h"

#include <cstring>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <utility>

#include "record/tf_tensor.h"
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

/// The name of the plugin of TensorBoard that a value is for; "" where it is not known.
std::string read_plugin(protozero::pbf_reader metadata) {
  std::string name;
  while (metadata.next()) {
    if (metadata.tag_and_type() != field(1, pbf_wire_type::length_delimited)) {
      metadata.skip();
      continue;
    }
    protozero::pbf_reader plugin = metadata.get_message();
    while (plugin.next()) {
      if (plugin.tag_and_type() == field(1, pbf_wire_type::length_delimited)) {
        name = plugin.get_string();
      } else {
        plugin.skip();
      }
    }
  }
  return name;
}

/// Puts a value where it belongs: a scalar, an image, or what is left out.
struct ValueReader {
  TfScalar scalar;
  TfImage image;
  std::string plugin;
  std::optional<TfTensor> tensor;
  bool is_scalar = false;

  void read(protozero::pbf_reader value) {
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
        case field(8, pbf_wire_type::length_delimited): {
          const protozero::data_view bytes = value.get_view();
          tensor = read_tf_tensor({bytes.data(), bytes.size()});
          break;
        }
        case field(9, pbf_wire_type::length_delimited):
          plugin = read_plugin(value.get_message());
          break;
        default:
          value.skip();
      }
    }
  }

  void put(TfEvents& out) {
    const bool is_for_scalars = plugin.empty() || plugin == "scalars";
    if (tensor && tensor->kind == TensorKind::scalar && is_for_scalars) {
      scalar.value = tensor->value;
      is_scalar = true;
    }
    image.tag = scalar.tag;
    image.step = scalar.step;
    if (is_scalar) {
      out.scalars.push_back(std::move(scalar));
    } else if (tensor && tensor->kind == TensorKind::several) {
      out.left_out.add("value",
                       "tensors of more than one number, such as vectors and PR curves, are no curve");
    } else if (image.png.empty()) {
      out.left_out.add("value", "texts, histograms, settings and what other plugins keep are no curve");
    }
    if (!image.png.empty()) out.images.push_back(std::move(image));
  }
};

/// Whether the message marks the begin of a program, as SessionLog does.
bool is_start(protozero::pbf_reader session) {
  constexpr int kStart = 1;
  bool out = false;
  while (session.next()) {
    if (session.tag_and_type() == field(1, pbf_wire_type::varint)) {
      out = session.get_enum() == kStart;
    } else {
      session.skip();
    }
  }
  return out;
}

/// Wall time and step come before the summary or after it: the summary is read last.
void read_event(std::string_view bytes, std::int64_t& sessions, TfEvents& out) {
  TfScalar place;
  protozero::pbf_reader event(bytes.data(), bytes.size());
  protozero::pbf_reader summary;
  bool starts = false;
  while (event.next()) {
    switch (event.tag_and_type()) {
      case field(1, pbf_wire_type::fixed64):
        place.wall_time_s = event.get_double();
        break;
      case field(2, pbf_wire_type::varint):
        place.step = event.get_int64();
        break;
      case field(5, pbf_wire_type::length_delimited):
        summary = event.get_message();
        break;
      case field(7, pbf_wire_type::length_delimited):
        starts = is_start(event.get_message());
        break;
      default:
        event.skip();
    }
  }
  place.session = sessions + (starts ? 1 : 0);
  std::size_t values = 0;
  while (summary.next()) {
    if (summary.tag_and_type() == field(1, pbf_wire_type::length_delimited)) {
      if (++values > kMostValuesARecord) throw protozero::exception();
      ValueReader value{.scalar = place, .image = {}, .plugin = "", .tensor = {}};
      value.read(summary.get_message());
      value.put(out);
    } else {
      summary.skip();
    }
  }
  sessions = place.session;
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
    const LeftOut left_out = out.left_out;
    try {
      if (word_at(rest, kHeadBytes + length) != masked_crc32c(data)) throw protozero::exception();
      read_event(data, sessions_, out);
    } catch (const protozero::exception&) {
      out.scalars.resize(scalars);
      out.images.resize(images);
      out.left_out = left_out;
      ++skipped_;
    }
  }
  return used;
}

}  // namespace isobar
