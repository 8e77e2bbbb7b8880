#include "record/tfevents_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <protozero/pbf_writer.hpp>
#include <span>

#include "core/clock.h"
#include "core/crc32c.h"
#include "core/error.h"

namespace isobar {
namespace {

// Field numbers of event.proto and summary.proto.
enum class Event : protozero::pbf_tag_type { wall_time = 1, step = 2, file_version = 3, summary = 5 };
enum class Summary : protozero::pbf_tag_type { value = 1 };
enum class Value : protozero::pbf_tag_type { tag = 1, simple_value = 2, image = 4 };
enum class Image : protozero::pbf_tag_type { height = 1, width = 2, colorspace = 3, encoded = 4 };

constexpr int kRgb = 3;

template <class Tag>
constexpr protozero::pbf_tag_type at(Tag tag) {
  return static_cast<protozero::pbf_tag_type>(tag);
}

template <class Number>
std::string little_endian(Number value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(bytes)));
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

TfEventsWriter::TfEventsWriter(const std::filesystem::path& folder, const std::string& host) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) throw system_error("cannot make the folder", folder.string(), code.value());
  path_ = folder / fmt::format("events.out.tfevents.{:010}.{}.{}", wall_ns() / 1'000'000'000, host, getpid());
  file_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file_.is_open()) throw system_error("cannot create the event file", path_.string(), errno);
  std::string bytes;
  protozero::pbf_writer event(bytes);
  event.add_double(at(Event::wall_time), static_cast<double>(wall_ns()) * 1e-9);
  event.add_string(at(Event::file_version), "brain.Event:2");
  write_record(bytes);
}

void TfEventsWriter::scalar(std::string_view tag, double value, std::int64_t step) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  out.add_string(at(Value::tag), tag.data(), tag.size());
  out.add_float(at(Value::simple_value), static_cast<float>(value));
  write_event(step, bytes);
}

void TfEventsWriter::image(std::string_view tag, std::string_view png, std::int64_t height,
                           std::int64_t width, std::int64_t step) {
  std::string picture;
  protozero::pbf_writer inner(picture);
  inner.add_int32(at(Image::height), static_cast<std::int32_t>(height));
  inner.add_int32(at(Image::width), static_cast<std::int32_t>(width));
  inner.add_int32(at(Image::colorspace), kRgb);
  inner.add_bytes(at(Image::encoded), png.data(), png.size());
  std::string bytes;
  protozero::pbf_writer out(bytes);
  out.add_string(at(Value::tag), tag.data(), tag.size());
  out.add_message(at(Value::image), picture);
  write_event(step, bytes);
}

void TfEventsWriter::write_event(std::int64_t step, const std::string& summary_value) {
  std::string summary;
  protozero::pbf_writer(summary).add_message(at(Summary::value), summary_value);
  std::string bytes;
  protozero::pbf_writer event(bytes);
  event.add_double(at(Event::wall_time), static_cast<double>(wall_ns()) * 1e-9);
  event.add_int64(at(Event::step), step);
  event.add_message(at(Event::summary), summary);
  write_record(bytes);
}

void TfEventsWriter::write_record(const std::string& bytes) {
  const std::string length = little_endian(static_cast<std::uint64_t>(bytes.size()));
  const std::string record =
      length + little_endian(masked_crc32c(length)) + bytes + little_endian(masked_crc32c(bytes));
  write_fully(file_, path_,
              std::as_bytes(std::span(record)));  // one write: a reader sees all of it or a tail
}

}  // namespace isobar
