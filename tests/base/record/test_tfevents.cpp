#include <fcntl.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/crc32c.h"
#include "core/random.h"
#include "record/field_image.h"
#include "record/tfevents_reader.h"
#include "record/tfevents_writer.h"
#include "support/catch.h"
#include "support/says.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

std::string sample_log(const TempFolder& folder) {
  TfEventsWriter writer(folder / "tb", "host");
  for (int step = 0; step < 5; ++step) writer.scalar("Loss/train", 1.0 / (1 << step), step);
  writer.scalar("bad", std::numeric_limits<double>::quiet_NaN(), -3);
  writer.image("Visualization, t2m", "PNG", 10, 20, 4);
  return read_text_file(writer.path(), 1 << 20);
}

TfEvents read_all(const std::filesystem::path& path) { return TfEventsReader(path).read_new(); }

/// A record around any bytes, with right checksums.
std::string record(const std::string& bytes) {
  const std::uint64_t size = bytes.size();
  std::string length(8, '\0');
  std::memcpy(length.data(), &size, 8);
  const auto word = [](std::uint32_t value) { return std::string(reinterpret_cast<const char*>(&value), 4); };
  return length + word(masked_crc32c(length)) + bytes + word(masked_crc32c(bytes));
}

/// Where the records of a log begin.
std::vector<std::size_t> record_begins(const std::string& log) {
  std::vector<std::size_t> out;
  for (std::size_t at = 0; at < log.size();) {
    out.push_back(at);
    std::uint64_t length = 0;
    std::memcpy(&length, log.data() + at, 8);
    at += 12 + length + 4;
  }
  return out;
}

}  // namespace

TEST_CASE("CRC-32C gives the published values, in one piece or several") {
  const std::string text = "123456789";
  const auto bytes = std::as_bytes(std::span(text));
  CHECK(crc32c(bytes) == 0xe3069283U);
  CHECK(crc32c(bytes.subspan(4), crc32c(bytes.first(4))) == 0xe3069283U);
  const std::string zeros(32, '\0');
  CHECK(crc32c(std::as_bytes(std::span(zeros))) == 0x8a9136aaU);
}

TEST_CASE("scalars and images come back with tag, step and value") {
  const TempFolder folder;
  sample_log(folder);
  const std::filesystem::path path = *std::filesystem::directory_iterator(folder / "tb");
  CHECK_THAT(path.filename().string(), says("events.out.tfevents."));
  const TfEvents events = read_all(path);
  REQUIRE(events.scalars.size() == 6);
  CHECK(events.scalars[2].tag == "Loss/train");
  CHECK(events.scalars[2].step == 2);
  CHECK(events.scalars[2].value == 0.25);
  CHECK(events.scalars[2].wall_time_s > 1.6e9);
  CHECK(std::isnan(events.scalars[5].value));
  CHECK(events.scalars[5].step == -3);
  REQUIRE(events.images.size() == 1);
  CHECK(events.images[0].png == "PNG");
}

TEST_CASE("the log of PyTorch's own writer, with the tutorial's tags, is read") {
  TfEventsReader reader("tests/reference/events.reference");
  const TfEvents events = reader.read_new();
  CHECK_FALSE(reader.is_damaged());
  CHECK(reader.skipped_records() == 0);
  REQUIRE(events.scalars.size() == 7);
  CHECK(events.scalars[0].tag == "Loss/valid");
  CHECK(events.scalars[0].value == Approx(1.0737));
  CHECK(events.scalars[5].tag == "RMSE(u10m)/valid");
  CHECK(events.scalars[5].step == 4744);
  CHECK(events.scalars[5].value == Approx(0.1648));
  CHECK(events.scalars[6].tag == "Loss/train");  // kept as a tensor, as newer writers do
  CHECK(events.scalars[6].value == 0.25);
  REQUIRE(events.images.size() == 1);
  CHECK(events.images[0].tag == "Visualization, t2m");
  CHECK(events.images[0].png.substr(1, 3) == "PNG");
}

TEST_CASE("a log that grows is read record by record, whatever the pieces") {
  const TempFolder folder;
  const std::string whole = sample_log(folder);
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    const std::filesystem::path path = folder / ("cut" + std::to_string(cut));
    const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    write_fully(file, path, std::as_bytes(std::span(whole)).first(cut));
    TfEventsReader reader(path);
    std::size_t scalars = reader.read_new().scalars.size();
    CHECK_FALSE(reader.is_damaged());
    write_fully(file, path, std::as_bytes(std::span(whole)).subspan(cut));
    scalars += reader.read_new().scalars.size();
    REQUIRE(scalars == 6);
    REQUIRE(reader.read_new().scalars.empty());
  }
}

TEST_CASE("a damaged record is skipped and counted, a damaged length ends the file") {
  const TempFolder folder;
  const std::string whole = sample_log(folder);
  const std::size_t second = record_begins(whole)[1];
  std::string bytes = whole;
  bytes[second + 14] = static_cast<char>(bytes[second + 14] ^ 1);
  write_file_whole(folder / "a", bytes);
  TfEventsReader skips(folder / "a");
  CHECK(skips.read_new().scalars.size() == 5);
  CHECK(skips.skipped_records() == 1);
  bytes = whole;
  bytes[second + 7] = '\x7f';  // a length of more than 2^62
  write_file_whole(folder / "b", bytes);
  TfEventsReader stops(folder / "b");
  CHECK(stops.read_new().scalars.empty());
  CHECK(stops.is_damaged());
}

TEST_CASE("records that are no events are skipped; fields of another type are ignored") {
  const TempFolder folder;
  write_file_whole(folder / "a", record(std::string("\x08\x01", 2)) + record("\xff\xff\xff not a protobuf"));
  TfEventsReader reader(folder / "a");
  CHECK(reader.read_new().scalars.empty());
  CHECK_FALSE(reader.is_damaged());
  CHECK(reader.skipped_records() == 1);
}

TEST_CASE("random damage under right checksums never crashes the reader") {
  const TempFolder folder;
  const std::string whole = sample_log(folder);
  const std::vector<std::size_t> begins = record_begins(whole);
  for (std::uint64_t round = 0; round < 3000; ++round) {
    const std::size_t which = 1 + round % (begins.size() - 2);
    std::string payload = whole.substr(begins[which] + 12, begins[which + 1] - begins[which] - 16);
    for (std::uint64_t flip = 0; flip < 1 + round % 5; ++flip) {
      const std::uint64_t bit = below_at(round, flip, payload.size() * 8);
      payload[bit / 8] = static_cast<char>(payload[bit / 8] ^ (1 << (bit % 8)));
    }
    write_file_whole(folder / "a", record(payload));
    TfEventsReader reader(folder / "a");
    REQUIRE(reader.read_new().scalars.size() <= 1);
    REQUIRE_FALSE(reader.is_damaged());
  }
}

TEST_CASE("maps are PNG files, and values that are no numbers do not matter") {
  std::vector<float> upper(12, 1.0F);
  upper[3] = std::numeric_limits<float>::quiet_NaN();
  const PngImage image = draw_pair(upper, std::vector<float>(12, -1.0F), 3, 4);
  CHECK(image.bytes.substr(1, 3) == "PNG");
  CHECK(image.width == 288);
  CHECK(image.height == 2 * 3 * 72 + 6);
  CHECK(draw_pair(std::vector<float>(12, 2.0F), std::vector<float>(12, 2.0F), 3, 4).bytes.size() > 50);
}

TEST_CASE("a log of many values is read in several calls, each value once") {
  const TempFolder folder;
  // A summary of `count` values that have nothing but a number of 4 bytes.
  const auto event = [](std::size_t count) {
    std::string summary;
    for (std::size_t i = 0; i < count; ++i) summary += std::string("\x0a\x05\x15\x00\x00\x80\x3f", 7);
    std::string length;
    for (std::size_t rest = summary.size(); rest != 0; rest >>= 7)
      length += static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    return record("\x2a" + length + summary);
  };
  std::string log;
  for (int i = 0; i < 5; ++i) log += event(60'000);
  log += event(70'000) + event(1);  // the one before last has more values than are taken from a record
  write_file_whole(folder / "a", log);
  TfEventsReader reader(folder / "a");
  const std::size_t first = reader.read_new().scalars.size();
  CHECK(first == 300'000);
  const TfEvents rest = reader.read_new();
  CHECK(rest.scalars.size() == 1);
  CHECK(reader.skipped_records() == 1);
  CHECK_FALSE(reader.is_damaged());
  CHECK(reader.read_new().scalars.empty());
}

TEST_CASE("a large record before a small one does not make the small one wait") {
  const TempFolder folder;
  const std::string value = "\x0a\x01t\x15" + std::string("\x00\x00\x80\x3f", 4);
  const std::string summary = "\x0a" + std::string(1, static_cast<char>(value.size())) + value;
  const std::string small = record("\x2a" + std::string(1, static_cast<char>(summary.size())) + summary);
  write_file_whole(folder / "a", record(std::string(40 << 20, '\xff')) + small);
  TfEventsReader reader(folder / "a");
  std::size_t scalars = reader.read_new().scalars.size();
  scalars += reader.read_new().scalars.size();
  CHECK(scalars == 1);
  CHECK(reader.skipped_records() == 1);
  TfRecordParser parser;
  TfEvents events;
  CHECK(parser.take(small, events) == small.size());
  CHECK(parser.wanted() == 12);
}
