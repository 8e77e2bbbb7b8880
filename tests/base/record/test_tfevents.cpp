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
#include "support/event_bytes.h"
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
  write_file_whole(folder / "a",
                   tf_record(std::string("\x08\x01", 2)) + tf_record("\xff\xff\xff not a protobuf"));
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
    write_file_whole(folder / "a", tf_record(payload));
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
    return tf_record("\x2a" + length + summary);
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
  const std::string small = tf_record("\x2a" + std::string(1, static_cast<char>(summary.size())) + summary);
  write_file_whole(folder / "a", tf_record(std::string(40 << 20, '\xff')) + small);
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

TEST_CASE("a scalar kept as a tensor is read in every form that writers use") {
  const auto packed = [](unsigned field, const std::string& numbers) { return bytes_field(field, numbers); };
  const std::string kHalf = varint(0x3400), kBfloat = varint(0x3e80);  // 0.25
  const struct {
    double value;
    std::string body;
  } forms[] = {
      {0.25, tf_tensor(1, packed(5, raw(0.25F)))},
      {0.25, tf_tensor(1, tagged(5, 5, raw(0.25F)))},
      {0.25, tf_tensor(1, bytes_field(4, raw(0.25F)))},
      {0.1, tf_tensor(2, packed(6, raw(0.1)))},
      {0.1, tf_tensor(2, tagged(6, 1, raw(0.1)))},
      {0.1, tf_tensor(2, bytes_field(4, raw(0.1)))},
      {-7, tf_tensor(3, packed(7, varint(static_cast<std::uint64_t>(-7))))},
      {-7, tf_tensor(3, varint_field(7, static_cast<std::uint64_t>(-7)))},
      {-7, tf_tensor(3, bytes_field(4, raw(std::int32_t{-7})))},
      {200, tf_tensor(4, bytes_field(4, "\xc8"))},
      {-7, tf_tensor(5, bytes_field(4, raw(std::int16_t{-7})))},
      {-7, tf_tensor(6, bytes_field(4, "\xf9"))},
      {1e12, tf_tensor(9, packed(10, varint(1'000'000'000'000)))},
      {1e12, tf_tensor(9, varint_field(10, 1'000'000'000'000))},
      {1e12, tf_tensor(9, bytes_field(4, raw(std::int64_t{1'000'000'000'000})))},
      {1, tf_tensor(10, varint_field(11, 1))},
      {0.25, tf_tensor(14, packed(13, kBfloat))},
      {0.25, tf_tensor(14, bytes_field(4, raw(std::uint16_t{0x3e80})))},
      {65535, tf_tensor(17, varint_field(7, 65535))},
      {0.25, tf_tensor(19, packed(13, kHalf))},
      {0.25, tf_tensor(19, tagged(13, 0, kHalf))},
      {0.25, tf_tensor(19, bytes_field(4, raw(std::uint16_t{0x3400})))},
      {4e9, tf_tensor(22, varint_field(16, 4'000'000'000))},
      {5, tf_tensor(23, varint_field(17, 5))},
      {0.25, tf_tensor(1, packed(5, raw(0.25F)), {1})},
      {0.25, tf_tensor(1, packed(5, raw(0.25F)), {1, 1})},
      {0.25, tf_tensor(1, packed(5, raw(0.25F)), {}, "")},
  };
  for (const auto& form : forms) {
    INFO(&form - &forms[0]);
    TfRecordParser parser;
    TfEvents events;
    parser.take(tf_event(3, tf_value("loss", form.body)), events);
    REQUIRE(events.scalars.size() == 1);
    CHECK(events.scalars[0].value == form.value);
    CHECK(events.scalars[0].step == 3);
    CHECK(events.left_out.empty());
  }
}

TEST_CASE("what is no scalar is counted, and never shown as one") {
  const std::string two = raw(1.0F) + raw(2.0F);
  const std::string several[] = {
      tf_tensor(1, bytes_field(5, two), {2}),
      tf_tensor(1, bytes_field(5, two)),  // whatever its shape
      tf_tensor(1, bytes_field(4, two), {2}),
      tf_tensor(1, bytes_field(5, raw(0.5F)), {6, 2}, "pr_curves"),  // the last number stands for the rest
      tf_tensor(1, "", {0}),
      tf_tensor(2, ""),
  };
  const std::string others[] = {
      tf_tensor(7, bytes_field(8, "words"), {}, "text"),
      tf_tensor(1, bytes_field(5, raw(0.5F)), {}, "another"),
      tf_tensor(99, bytes_field(4, raw(0.5F))),
      bytes_field(5, ""),  // a histogram
      "",
  };
  TfRecordParser parser;
  TfEvents events;
  std::string values;
  for (const std::string& body : several) values += tf_value("several", body);
  for (const std::string& body : others) values += tf_value("others", body);
  parser.take(tf_event(1, values + tf_value("loss", tf_simple(0.5))), events);
  CHECK(parser.skipped_records() == 0);
  REQUIRE(events.scalars.size() == 1);
  CHECK(events.scalars[0].tag == "loss");
  CHECK(events.left_out.count("value") == 11);
  const std::vector<std::string> sentences = events.left_out.sentences();
  REQUIRE(sentences.size() == 2);
  CHECK_THAT(sentences[1], says("5 values left out: texts, histograms"));
  CHECK_THAT(sentences[0], says("6 values left out: tensors of more than one number"));
  // A record that is cut in a tensor is skipped whole: nothing of it is counted as a value.
  TfEvents none;
  parser.take(tf_record(bytes_field(5, values + tf_value("x", bytes_field(8, "\x08")))), none);
  CHECK(parser.skipped_records() == 1);
  CHECK(none.left_out.empty());
}

TEST_CASE("a program that begins to write again is another session of the same file") {
  TfRecordParser parser;
  TfEvents events;
  parser.take(
      tf_event(1, tf_value("a", tf_simple(1))) + tf_start(1) + tf_event(1, tf_value("a", tf_simple(2))),
      events);
  REQUIRE(events.scalars.size() == 2);
  CHECK(events.scalars[0].session == 0);
  CHECK(events.scalars[1].session == 1);
}

TEST_CASE("a file that is compressed, damaged or became shorter is told of as that") {
  const TempFolder folder;
  const auto problem_of = [&](const std::string& bytes) {
    write_file_whole(folder / "events", std::string_view(bytes));
    TfEventsReader reader(folder / "events");
    CHECK(reader.read_new().scalars.empty());
    return reader.problem();
  };
  CHECK_THAT(problem_of("\x1f\x8b\x08 and so on, longer than a head"), says("it is compressed (gzip)"));
  CHECK_THAT(problem_of("BZh91AY&SY and so on"), says("it is compressed (bzip2)"));
  CHECK_THAT(problem_of(std::string(100, 'x')), says("it is damaged; the last 100 B are left out"));
  CHECK(problem_of("").empty());
  write_file_whole(folder / "events", std::string_view(tf_event(1, "") + tf_event(2, "")));
  TfEventsReader reader(folder / "events");
  reader.read_new();
  CHECK(reader.problem().empty());
  write_file_whole(folder / "events", std::string_view(tf_event(1, "")));
  reader.read_new();
  CHECK_THAT(reader.problem(), says("became shorter"));
}
