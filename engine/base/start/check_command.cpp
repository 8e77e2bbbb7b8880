#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "fields/statistics.h"
#include "fields/year_file.h"
#include "record/console.h"
#include "start/commands.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kQuickRecords = 8;  // a file, evenly spread
constexpr double kMeanTolerance = 0.05;    // share of the spread
constexpr double kSpreadTolerance = 0.05;

/// The values of one channel that were read.
struct ChannelValues {
  double sum = 0, square = 0;
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  double count = 0;

  void add(double value) {
    sum += value;
    square += value * value;
    least = std::min(least, value);
    most = std::max(most, value);
    ++count;
  }
  double mean() const { return sum / count; }
  double deviation() const { return std::sqrt(std::max(0.0, square / count - mean() * mean())); }
};

class Checker {
 public:
  Checker(fs::path root, bool quick) : root_(std::move(root)), quick_(quick) {}

  int run() {
    console_.line("checking " + printable(root_.string(), 400) + (quick_ ? " (8 records a file)" : ""));
    for (const char* split : {"train", "valid", "test"}) check_split(split);
    if (shape_) check_statistics();
    if (reader_failures_ > 0) {
      console_.line(fmt::format("{} files brought the HDF5 library down, which reads in a process of its own",
                                reader_failures_));
    }
    console_.line(problems_ == 0 ? "all is well" : counted(problems_, "problem"));
    return problems_ == 0 ? 0 : static_cast<int>(Exit::bad_input);
  }

 private:
  void problem(const std::string& where, const std::string& what) {
    ++problems_;
    console_.line("  PROBLEM  " + printable(where, 400) + ": " + what);
  }
  void problem(const std::string& where, const Error& error) {
    problem(where, error.hint().empty() ? error.what() : fmt::format("{} ({})", error.what(), error.hint()));
  }

  /// What `read` gives; a rule of the loaders that does not hold is a problem, and nothing is given.
  template <typename Read>
  auto read_or_problem(const std::string& where, const Read& read) -> std::optional<decltype(read())> {
    try {
      return read();
    } catch (const Error& error) {
      problem(where, error);
      return std::nullopt;
    }
  }

  void check_split(const std::string& split) {
    if (split == "test" && !fs::exists(root_ / split)) return;  // nothing here needs it
    const auto files = read_or_problem(split, [&] { return year_files(root_ / split); });
    if (!files) return;
    const std::vector<OpenedYearFile> opened = try_open_year_files(*files);
    const std::int64_t first_records = opened.front().file ? opened.front().file->shape()[0] : 0;
    for (std::size_t n = 0; n < files->size(); ++n) {
      const std::string name = split + "/" + (*files)[n].filename().string();
      reader_failures_ += opened[n].reader_failed ? 1 : 0;
      bool is_read = false;
      try {
        if (opened[n].error) throw Error(*opened[n].error);
        is_read = check_file(*opened[n].file, name, split == "train", first_records);
      } catch (const Error& error) {
        problem(name, error);
      }
      if (split == "train" && !is_read) ++unread_;
    }
  }

  /// Whether its values were read. `first_records`: of the first year; 0 where that could not be read.
  bool check_file(const YearFile& file, const std::string& name, bool train, std::int64_t first_records) {
    static constexpr std::array<const char*, 3> kStorage = {"contiguous", "chunked",
                                                            "compressed: slow to read"};
    const auto& shape = file.shape();
    console_.line(fmt::format("  {}: [{}], {}", printable(name, 400), joined(shape),
                              kStorage[static_cast<std::size_t>(file.storage())]));
    if (!shape_) shape_ = shape;
    for (const std::size_t dim : {1U, 2U, 3U}) {
      static constexpr std::array<const char*, 4> kNames = {"records", "channels", "rows", "columns"};
      if (shape[dim] != (*shape_)[dim]) {
        problem(name, fmt::format("{} {}, the first file has {}", shape[dim], kNames[dim], (*shape_)[dim]));
        return false;
      }
    }
    if (shape[0] < first_records) {
      problem(name, fmt::format("{} records, the first year has {}: later years must not be shorter",
                                shape[0], first_records));
    }
    if (shape[0] < kLeastStepsOfYear) {
      problem(name,
              fmt::format("{} records, a year needs at least {} (3 x data.dt)", shape[0], kLeastStepsOfYear));
    }
    scan(file, name, train);
    return true;
  }

  void scan(const YearFile& file, const std::string& name, bool train) {
    const auto [records, channels, rows, columns] = file.shape();
    const std::int64_t step = quick_ ? std::max<std::int64_t>(1, records / kQuickRecords) : 1;
    std::vector<float> record(static_cast<std::size_t>(channels * rows * columns));
    std::int64_t bad = 0;
    std::string first_bad;
    channels_.resize(static_cast<std::size_t>(channels));
    for (std::int64_t t = 0; t < records; t += step) {
      file.read_record(t, rows, columns, record);
      for (std::size_t n = 0; n < record.size(); ++n) {
        const auto channel = static_cast<std::int64_t>(n) / (rows * columns);
        const double value = static_cast<double>(record[n]);
        if (!std::isfinite(value)) {
          const auto at = static_cast<std::int64_t>(n);
          if (bad++ == 0) {
            first_bad = fmt::format("record {}, channel {}, row {}, column {}", t, channel,
                                    at / columns % rows, at % columns);
          }
        } else if (train) {
          channels_[static_cast<std::size_t>(channel)].add(value);
        }
      }
      if (console_.is_terminal())
        console_.progress(fmt::format("  {}: {} of {} records", name, t + 1, records));
    }
    if (bad > 0) problem(name, fmt::format("{} values are not finite, the first at {}", bad, first_bad));
  }

  void check_statistics() {
    const std::int64_t channels = (*shape_)[1];
    const auto means = read_or_problem("stats/global_means.npy", [&] { return read_means(root_, channels); });
    const auto stds = read_or_problem("stats/global_stds.npy", [&] { return read_spreads(root_, channels); });
    check_climatology(means && stds ? std::optional(Statistics{*means, *stds}) : std::nullopt);
    if (unread_ > 0) {
      console_.line(
          fmt::format("  the statistics are not compared with the values: {} of train/ could not be read",
                      counted(unread_, "file")));
    } else if (means && stds && !channels_.empty() && channels_[0].count > 0) {
      compare_statistics(*means, *stds);
    }
  }

  void check_climatology(const std::optional<Statistics>& statistics) {
    const char* const kName = "stats/time_means.npy";
    if (!fs::exists(root_ / kName)) {
      console_.line(fmt::format("  {} is not there: no climatology will be shown", kName));
      return;
    }
    const auto channels = static_cast<std::size_t>((*shape_)[1]);
    // Where the statistics cannot be read, its shape and values still can be looked at.
    const Statistics given =
        statistics.value_or(Statistics{std::vector<float>(channels, 0), std::vector<float>(channels, 1)});
    const auto means =
        read_or_problem(kName, [&] { return read_time_means(root_, given, (*shape_)[2], (*shape_)[3]); });
    if (means && statistics && !means->fault.empty())
      problem(kName, means->fault + "; no climatology will be shown (compute it over the training files)");
  }

  void compare_statistics(const std::vector<float>& means, const std::vector<float>& stds) {
    console_.line(fmt::format("  training values{}, and stats/ beside them", quick_ ? " read" : ""));
    const auto row = [&](auto... cells) {
      console_.line(fmt::format("  {:>7}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}", cells...));
    };
    row("channel", "mean", "stats", "deviation", "stats", "least", "greatest");
    for (std::size_t c = 0; c < means.size(); ++c) {
      const double mean = channels_[c].mean();
      const double spread = channels_[c].deviation();
      const auto given_mean = static_cast<double>(means[c]);
      const auto given_spread = static_cast<double>(stds[c]);
      const auto digits = [](double value) { return fmt::format("{:.4g}", value); };
      row(c, digits(mean), digits(given_mean), digits(spread), digits(given_spread),
          digits(channels_[c].least), digits(channels_[c].most));
      if (!quick_ && (std::fabs(mean - given_mean) > kMeanTolerance * given_spread ||
                      std::fabs(spread / given_spread - 1) > kSpreadTolerance)) {
        problem("stats",
                fmt::format("channel {}: the files have mean {:.6g} and spread {:.6g}, the statistics {:.6g} "
                            "and {:.6g}",
                            c, mean, spread, given_mean, given_spread));
      }
    }
  }

  fs::path root_;
  bool quick_;
  Console console_;
  int problems_ = 0;
  int reader_failures_ = 0;
  int unread_ = 0;  ///< files of train/ whose values are not among the channels'
  std::optional<std::array<std::int64_t, 4>> shape_;
  std::vector<ChannelValues> channels_;  ///< values of the training records read
};

}  // namespace

int check_data(const Words& words) {
  fs::path folder;
  bool quick = false;
  OptionParser app("What is wrong with a data set: files, shapes, values, statistics", "./isobar data check");
  app.add("FOLDER", folder, "with train/, valid/ and stats/");
  app.flag("--quick", quick, "8 records of each file");
  if (!app.parse(words)) return 0;
  if (folder.empty())
    throw Error("which data set?", "./isobar data check", "./isobar data check FOLDER [--quick]");
  if (!fs::is_directory(folder))
    throw Error("there is no such data folder", folder.string(), "a folder with train/, valid/ and stats/");
  return Checker(folder, quick).run();
}

}  // namespace isobar
