#include "make_fields/make_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "config/config.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "fields/npy.h"
#include "fields/year_file_writer.h"
#include "make_fields/channels.h"
#include "make_fields/flow.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kGapRecords = 40;  // 10 days between the periods, so that none continues another
constexpr std::int64_t kMostSimulatedRows = 96;
constexpr const char* kSource =
    "Isobar make_fields: a synthetic atmosphere (two-layer quasi-geostrophic flow), not an observation";

struct Period {
  const char* split;
  const char* file;
};
constexpr std::array<Period, 4> kPeriods = {
    {{"train", "2001.h5"}, {"train", "2002.h5"}, {"valid", "2003.h5"}, {"test", "2004.h5"}}};

/// One state on its way from the thread that simulates to the one that derives and writes.
struct Item {
  std::size_t period;
  std::int64_t record;
  FlowState state;
};

class Queue {
 public:
  bool push(Item item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || items_.size() < 4; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    changed_.notify_all();
    return true;
  }
  std::optional<Item> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    Item item = std::move(items_.front());
    items_.pop_front();
    changed_.notify_all();
    return item;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  bool closed_ = false;
};

/// Runs in a thread of its own; one flow through all periods, so validation and test are its future.
void simulate(const FieldsRequest& request, Queue& queue) {
  const bool native = request.rows <= kMostSimulatedRows && request.columns <= 2 * kMostSimulatedRows;
  Flow flow(static_cast<std::size_t>(native ? request.rows : 72),
            static_cast<std::size_t>(native ? request.columns : 144), request.seed);
  flow.advance(Flow::kSpinUpTime);
  const std::vector<std::int64_t> counts = record_counts(request.samples);
  std::int64_t time = 0;
  for (std::size_t period = 0; period < counts.size(); ++period) {
    if (period > 1) {
      flow.advance(Flow::kRecordTime * static_cast<double>(kGapRecords));
      time += kGapRecords;
    }
    for (std::int64_t record = 0; record < counts[period]; ++record, ++time) {
      flow.advance(Flow::kRecordTime);
      if (!queue.push({period, time, flow.state()})) return;
    }
  }
  queue.close();
}

/// Sums over the training files, in double precision.
class Sums {
 public:
  explicit Sums(std::size_t pixels) : pixels_(pixels), at_pixel_(kChannels.size() * pixels) {}

  void add(std::span<const float> record) {
    for (std::size_t c = 0; c < kChannels.size(); ++c) {
      for (std::size_t p = 0; p < pixels_; ++p) {
        const double value = static_cast<double>(record[c * pixels_ + p]);
        at_pixel_[c * pixels_ + p] += value;
        sum_[c] += value;
        square_[c] += value * value;
      }
    }
    ++records_;
  }
  double mean(std::size_t c) const { return sum_[c] / count(); }
  double std(std::size_t c) const {
    return std::sqrt(std::max(0.0, square_[c] / count() - mean(c) * mean(c)));
  }
  std::vector<float> time_means() const {
    std::vector<float> out;
    out.reserve(at_pixel_.size());
    for (const double sum : at_pixel_) out.push_back(static_cast<float>(sum / static_cast<double>(records_)));
    return out;
  }

 private:
  double count() const { return static_cast<double>(records_) * static_cast<double>(pixels_); }

  std::size_t pixels_;
  std::vector<double> at_pixel_;
  std::array<double, kChannels.size()> sum_{};
  std::array<double, kChannels.size()> square_{};
  std::int64_t records_ = 0;
};

/// Derives, writes and adds up what the simulation sends.
class Writer {
 public:
  explicit Writer(const FieldsRequest& request)
      : request_(request),
        counts_(record_counts(request.samples)),
        maker_(static_cast<std::size_t>(request.rows), static_cast<std::size_t>(request.columns)),
        sums_(static_cast<std::size_t>(request.rows * request.columns)) {
    about_.source = kSource;
    for (const ChannelInfo& channel : kChannels) {
      about_.channel_names.emplace_back(channel.name);
      about_.units.emplace_back(channel.unit);
    }
    about_.latitudes_deg = maker_.latitudes_deg();
    about_.longitudes_deg = maker_.longitudes_deg();
  }

  void take(const Item& item) {
    if (!file_) open(item.period);
    const std::vector<float> record = maker_.derive(item.state, item.record);
    file_->append(record);
    checksum(record);
    if (item.period < 2) sums_.add(record);
    if (item.period == 2) compare(record);
    if (++written_ == counts_[item.period]) {
      file_->finish();
      file_.reset();
      written_ = 0;
    }
  }

  std::vector<ChannelSummary> finish() {
    std::vector<float> means;
    std::vector<float> stds;
    std::vector<ChannelSummary> summary;
    for (std::size_t c = 0; c < kChannels.size(); ++c) {
      means.push_back(static_cast<float>(sums_.mean(c)));
      stds.push_back(static_cast<float>(sums_.std(c)));
      const double error =
          std::sqrt(change_[c] / static_cast<double>(changes_ * request_.rows * request_.columns));
      summary.push_back(
          {kChannels[c].name, kChannels[c].unit, sums_.mean(c), sums_.std(c), error / sums_.std(c)});
    }
    const fs::path stats = request_.folder / "stats";
    const auto channels = static_cast<std::int64_t>(kChannels.size());
    write_npy(stats / "global_means.npy", std::array<std::int64_t, 4>{1, channels, 1, 1}, means);
    write_npy(stats / "global_stds.npy", std::array<std::int64_t, 4>{1, channels, 1, 1}, stds);
    write_npy(stats / "time_means.npy",
              std::array<std::int64_t, 4>{1, channels, request_.rows, request_.columns}, sums_.time_means());
    write_file_whole(request_.folder / "dataset.toml", sheet());
    return summary;
  }

 private:
  void open(std::size_t period) {
    file_.emplace(request_.folder / kPeriods[period].split / kPeriods[period].file,
                  std::array<std::int64_t, 4>{counts_[period], static_cast<std::int64_t>(kChannels.size()),
                                              request_.rows, request_.columns},
                  about_);
  }
  void compare(const std::vector<float>& record) {
    const std::size_t pixels = static_cast<std::size_t>(request_.rows * request_.columns);
    if (!previous_.empty()) {
      for (std::size_t n = 0; n < record.size(); ++n) {
        const double difference = static_cast<double>(record[n]) - static_cast<double>(previous_[n]);
        change_[n / pixels] += difference * difference;
      }
      ++changes_;
    }
    previous_ = record;
  }
  void checksum(const std::vector<float>& record) {
    for (const std::byte byte : std::as_bytes(std::span(record))) {
      checksum_ = (checksum_ ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3ULL;
    }
  }
  std::string sheet() const {
    std::string files;
    for (std::size_t p = 0; p < counts_.size(); ++p) {
      files += fmt::format("\"{}/{}\" = {}\n", kPeriods[p].split, kPeriods[p].file, counts_[p]);
    }
    return fmt::format(
        "name = \"fields-{0}x{1}\"\nsynthetic = true  # {2}\ngenerator = {3}\ngrid = [{0}, {1}]\nchannels = "
        "{4}\n"
        "hours_per_record = 6\nseed = {5}\ncommand = '''{6}'''\nchecksum = \"{7:016x}\"  # FNV-1a over all "
        "records\n\n"
        "[records]\n{8}",
        request_.rows, request_.columns, kSource, kEmbeddedDataVersion, kChannels.size(), request_.seed,
        request_.command, checksum_, files);
  }

  const FieldsRequest& request_;
  std::vector<std::int64_t> counts_;
  ChannelMaker maker_;
  FieldsDescription about_;
  Sums sums_;
  std::optional<YearFileWriter> file_;
  std::int64_t written_ = 0;
  std::vector<float> previous_;
  std::array<double, kChannels.size()> change_{};
  std::int64_t changes_ = 0;
  std::uint64_t checksum_ = 0xcbf29ce484222325ULL;
};

}  // namespace

std::vector<std::string> files_of_set() {
  std::vector<std::string> out = {"dataset.toml", "stats/global_means.npy", "stats/global_stds.npy",
                                  "stats/time_means.npy"};
  for (const Period& period : kPeriods) out.push_back(std::string(period.split) + "/" + period.file);
  return out;
}

std::vector<std::int64_t> record_counts(std::int64_t samples) {
  const std::int64_t held_out = std::max<std::int64_t>(8, samples * 3 / 16);
  return {samples - samples / 2, samples / 2, held_out, held_out};
}

std::uint64_t bytes_needed(const FieldsRequest& request) {
  std::int64_t records = 1;  // the climatology
  for (const std::int64_t count : record_counts(request.samples)) records += count;
  return static_cast<std::uint64_t>(records * request.rows * request.columns) * kChannels.size() * 4 +
         100'000;
}

void check_request(const FieldsRequest& request) {
  const auto good = [](std::int64_t side) { return side >= 16 && side <= 4096 && side % 8 == 0; };
  if (!good(request.rows) || !good(request.columns)) {
    throw Error(fmt::format("a grid of {} x {} cannot be made", request.rows, request.columns), "--grid",
                "both sides are multiples of 8 from 16 to 4096, such as 72x144 or 360x720");
  }
  if (request.samples < 16 || request.samples > 1'000'000) {
    throw Error(fmt::format("{} samples cannot be made", request.samples), "--samples",
                "from 16 to 1,000,000");
  }
}

std::vector<ChannelSummary> make_fields(const FieldsRequest& request,
                                        const std::function<bool(std::int64_t, std::int64_t)>& on_record) {
  check_request(request);
  for (const char* folder : {"train", "valid", "test", "stats"})
    fs::create_directories(request.folder / folder);
  Queue queue;
  Writer writer(request);
  std::thread simulation([&] { simulate(request, queue); });
  std::exception_ptr failure;
  bool stopped = false;
  try {
    std::int64_t all = 0;
    for (const std::int64_t count : record_counts(request.samples)) all += count;
    for (std::int64_t done = 1; done <= all; ++done) {
      const std::optional<Item> item = queue.pop();
      if (!item) break;
      writer.take(*item);
      stopped = !on_record(done, all);
      if (stopped) break;
    }
  } catch (...) {
    failure = std::current_exception();
  }
  queue.close();
  simulation.join();
  if (failure) std::rethrow_exception(failure);
  if (stopped) throw Stopped{};
  return writer.finish();
}

}  // namespace isobar
