// An event file that grows in three pieces, read as the window reads it.
// Input: a mode byte, two places to cut at, then by mode % 3:
//   0  the bytes of the file
//   1  records, each a flag, two bytes of length and the data: they get right lengths and checksums, unless
//   the
//      flag asks for damage, so that the protobuf layer is reached
//   2  events of 8 bytes each, written as TensorBoard does, so that the curves are reached
#include <cmath>
#include <cstring>
#include <limits>
#include <protozero/pbf_writer.hpp>

#include "fuzz/checks.h"
#include "record/tf_record_parser.h"
#include "record/tfevents_writer.h"

using namespace isobar;

namespace {

enum Flag : std::uint8_t { kBadLength = 0xf0, kBadData = 0xf1, kEndless = 0xf2, kTooLong = 0xf3 };

constexpr std::size_t kSmallWindow = 16;
constexpr std::size_t kLargeWindow = 1 << 20;
constexpr std::size_t kLeastValueBytes = 7;
constexpr std::size_t kMostTags = 12;  // each is a table of curves: more would only cost time

template <class Number>
void add_number(std::string& file, Number value) {
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  file.append(bytes, sizeof(value));
}

void add_record(std::string& file, std::string_view data, std::uint8_t flag) {
  std::string head;
  add_number(head, flag == kEndless   ? std::uint64_t{1} << 63
                   : flag == kTooLong ? std::uint64_t{60} << 20
                                      : std::uint64_t{data.size()});
  file += head;
  add_number(file, masked_crc32c(head) ^ (flag == kBadLength ? 1U : 0U));
  file += data;
  add_number(file, masked_crc32c(data) ^ (flag == kBadData ? 1U : 0U));
}

/// A record alone: it is skipped whole or taken whole. Returns how many values it has.
std::size_t check_record(std::string_view record, std::uint8_t flag) {
  TfRecordParser parser;
  TfEvents events;
  const std::size_t used = parser.take(record, events);
  const std::size_t values = events.scalars.size() + events.images.size();
  require(parser.is_damaged() == (flag == kBadLength || flag == kEndless));
  require(used == (parser.is_damaged() || flag == kTooLong ? 0 : record.size()));
  require(parser.skipped_records() == 0 || (parser.skipped_records() == 1 && values == 0));
  require(flag != kBadData || parser.skipped_records() == 1);
  return values;
}

/// The file of the records in `bytes`, and how many values are in those that can be reached.
std::string wrapped(std::string_view bytes, std::size_t& values) {
  std::string file;
  bool reached = true;
  while (bytes.size() >= 3) {
    const auto flag = static_cast<std::uint8_t>(bytes[0]);
    const std::size_t length =
        static_cast<std::uint8_t>(bytes[1]) + std::size_t{256} * static_cast<std::uint8_t>(bytes[2]);
    const std::string_view data = bytes.substr(3, length);
    const std::size_t begin = file.size();
    add_record(file, data, flag);
    const std::size_t found = check_record(std::string_view(file).substr(begin), flag);
    reached = reached && flag != kBadLength && flag != kEndless && flag != kTooLong;
    if (reached) values += found;
    bytes.remove_prefix(3 + data.size());
  }
  return file;
}

std::string value_of(const char* bytes) {
  static constexpr const char* kTags[] = {"Loss/train", "Loss/valid",    "RMSE(u10m)/valid",   "RMSE()/valid",
                                          "train/loss", "Learning Rate", "Avg samples per sec"};
  const std::size_t which = static_cast<std::uint8_t>(bytes[1]) % kMostTags;
  const std::string tag = which < std::size(kTags) ? kTags[which] : "tag " + std::to_string(which);
  std::string value;
  protozero::pbf_writer out(value);
  out.add_string(1, tag);
  float number = 0;
  std::memcpy(&number, bytes + 4, sizeof(number));
  const bool is_tensor = (bytes[0] & 4) != 0;
  if (is_tensor) {
    std::string tensor;
    protozero::pbf_writer(tensor).add_enum(1, 2);
    double wide = static_cast<double>(number);
    protozero::pbf_writer(tensor).add_bytes(4, reinterpret_cast<const char*>(&wide), sizeof(wide));
    out.add_message(8, tensor);
  } else {
    out.add_float(2, number);
  }
  if ((bytes[0] & 8) != 0) {
    std::string picture;
    protozero::pbf_writer(picture).add_string(4, "PNG");
    out.add_message(4, picture);
  }
  return value;
}

/// Bytes of an event: flags, tag, two of the step, four of the value. Returns how many there were.
std::size_t compose(std::string_view bytes, std::string& file) {
  std::size_t count = 0;
  for (; bytes.size() >= 8; bytes.remove_prefix(8), ++count) {
    std::int16_t step = 0;
    std::memcpy(&step, bytes.data() + 2, sizeof(step));
    std::string summary;
    protozero::pbf_writer(summary).add_message(1, value_of(bytes.data()));
    std::string event;
    protozero::pbf_writer out(event);
    const bool is_nan = (bytes[0] & 1) != 0;
    out.add_double(1, is_nan ? std::numeric_limits<double>::quiet_NaN() : 1.7e9 + step);
    const bool is_huge = (bytes[0] & 2) != 0;
    out.add_int64(2, is_huge ? std::numeric_limits<std::int64_t>::max() - (step & 0xff) : std::int64_t{step});
    out.add_message(5, summary);
    add_record(file, event, 0);
  }
  return count;
}

bool same_bits(double one, double other) { return std::memcmp(&one, &other, sizeof(one)) == 0; }

/// TfEventsReader over bytes instead of a file.
class Log {
 public:
  Log(std::string_view bytes, std::uint64_t window) : bytes_(bytes), window_(window) {}

  TfEvents read(std::size_t size) {
    TfEvents out;
    while (!parser_.is_damaged() && size - offset_ >= parser_.wanted()) {
      const std::size_t given = std::min<std::uint64_t>(size - offset_, std::max(parser_.wanted(), window_));
      const std::size_t used = parser_.take(bytes_.substr(offset_, given), out);
      require(used <= given);
      require(used != 0 || parser_.is_damaged() || parser_.wanted() > given);
      offset_ += used;
    }
    return out;
  }
  bool is_damaged() const { return parser_.is_damaged(); }
  std::int64_t skipped() const { return parser_.skipped_records(); }

 private:
  std::string_view bytes_;
  std::uint64_t window_;
  std::size_t offset_ = 0;
  TfRecordParser parser_;
};

/// Nothing is made up: no more text and no more values than the bytes can hold.
void check_size(const TfEvents& events, std::size_t size) {
  std::size_t text = 0;
  for (const TfScalar& scalar : events.scalars) text += scalar.tag.size();
  for (const TfImage& image : events.images) text += image.png.size();
  require(text <= size);
  require(events.scalars.size() <= size / kLeastValueBytes);
  require(events.images.size() <= size / kLeastValueBytes);
}

void take_scalars(const TfEvents& events, RunSeries& series) {
  for (const TfScalar& scalar : events.scalars)
    series.take_scalar(scalar.tag, static_cast<double>(scalar.step), scalar.wall_time_s, scalar.value);
}

void append(TfEvents& events, const TfEvents& more) {
  events.scalars.insert(events.scalars.end(), more.scalars.begin(), more.scalars.end());
  events.images.insert(events.images.end(), more.images.begin(), more.images.end());
}

void check_same(const TfEvents& one, const TfEvents& other) {
  require(one.scalars.size() == other.scalars.size() && one.images.size() == other.images.size());
  for (std::size_t i = 0; i < one.scalars.size(); ++i) {
    const TfScalar& a = one.scalars[i];
    const TfScalar& b = other.scalars[i];
    require(a.tag == b.tag && a.step == b.step && same_bits(a.value, b.value));
    require(same_bits(a.wall_time_s, b.wall_time_s));
  }
  for (std::size_t i = 0; i < one.images.size(); ++i) {
    require(one.images[i].tag == other.images[i].tag && one.images[i].step == other.images[i].step);
    require(one.images[i].png == other.images[i].png);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Growth growth = growth_of(data, size);
  std::size_t expected = 0;
  if (growth.mode % 3 == 1) {
    growth.bytes = wrapped(growth.bytes, expected);
  } else if (growth.mode % 3 == 2) {
    std::string file;
    expected = compose(growth.bytes, file);
    growth.bytes = std::move(file);
  }
  growth.cut(growth.bytes.size());

  Log whole_log(growth.bytes, kLargeWindow);
  const TfEvents whole = whole_log.read(growth.bytes.size());
  check_size(whole, growth.bytes.size());
  if (growth.mode % 3 == 2) {
    require(whole.scalars.size() == expected && whole_log.skipped() == 0 && !whole_log.is_damaged());
  } else if (growth.mode % 3 == 1) {
    require(whole.scalars.size() + whole.images.size() == expected);
  }

  Log log(growth.bytes, kSmallWindow);
  TfEvents seen;
  RunSeries series;
  RunSeries kept;
  std::uint64_t kept_digest = 0;
  for (const std::size_t cut : growth.cuts) {
    const TfEvents events = log.read(cut);
    append(seen, events);
    take_scalars(events, series);
    if (cut != growth.cuts[1]) continue;
    kept = series.snapshot();
    kept_digest = digest(series);
  }
  require(digest(kept) == kept_digest);
  check_same(seen, whole);
  require(log.is_damaged() == whole_log.is_damaged() && log.skipped() == whole_log.skipped());
  check_series(series);
  return 0;
}
