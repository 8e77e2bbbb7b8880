#include "imported/log_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/number_text.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::uint64_t kMostLogBytes = 64U << 20;
constexpr const char* kNoEnd = "it is the last and has no end, as of one that is still being written";
constexpr std::size_t kMostEpochs = 100'000, kMostSettings = 500, kMostSettingBytes = 200;

/// Gives each line that has an end to `take`; what is left has none.
template <class Take>
std::string_view take_lines(std::string_view text, const Take& take_line) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    take_line(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return text;
}

/// Takes `words` from the front of `text`; false where it begins otherwise.
bool take(std::string_view& text, std::string_view words) {
  if (!text.starts_with(words)) return false;
  text.remove_prefix(words.size());
  return true;
}

/// Takes what stands before `end`, with it.
std::optional<double> number_before(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::optional<double> out = number_of<double>(trimmed(text.substr(0, at)));
  text.remove_prefix(at + end.size());
  return out;
}

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  return number_of<int>(text.substr(at, count));
}

/// Seconds since 1970 of "2023-09-26 21:29:00,679", as if it were UTC: only differences are used.
std::optional<double> time_of(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-dd dd:dd:dd,ddd";
  if (text.size() < kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == 'd' ? !is_digit : text[i] != kForm[i]) return std::nullopt;
  }
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  const auto thousandth = digits(text, 20, 3);
  if (!year || !month || !day || !hour || !minute || !second || !thousandth) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return 86400.0 * static_cast<double>(days) + 3600.0 * *hour + 60.0 * *minute + *second + 1e-3 * *thousandth;
}

class LogBuilder {
 public:
  explicit LogBuilder(const std::string& name) : name_(name) {}

  void take_line(std::string_view line) {
    constexpr std::string_view kRoot = " - root - INFO - ";
    if (line.find("OutOfMemoryError") != std::string_view::npos) out_.failure = "CUDA out of memory";
    const std::size_t at = line.find(kRoot);
    const bool is_dated = at == 23 && time_of(line).has_value();
    if (!is_dated) return;
    now_s_ = *time_of(line);
    take_words(trimmed(line.substr(at + kRoot.size())), line);
  }

  EpochLog result() { return std::move(out_); }

 private:
  void take_words(std::string_view words, std::string_view line) {
    if (words == "Starting Training Loop...") return begin(line);
    if (take(words, "Time taken for epoch ")) return begin_epoch(words);
    if (begins_) return take_result(words);
    const std::size_t blank = words.find(' ');
    if (blank == std::string_view::npos) return;
    if (out_.settings.size() >= kMostSettings)
      return out_.left_out.add("setting", "it is none of the first 500 of the log");
    std::string_view name = words.substr(0, blank);
    if (take(words, "Configuration name: "))
      name = "config";
    else
      words.remove_prefix(blank + 1);
    if (words.size() <= kMostSettingBytes)
      out_.settings.insert_or_assign(printable(name, 60), printable(words, kMostSettingBytes));
  }

  void begin(std::string_view line) {
    if (begins_) forget_training();
    out_.failure.clear();
    out_.started = std::string(line.substr(0, 10)) + "T" + std::string(line.substr(11, 8));
    begins_ = now_s_;
  }

  void forget_training() {
    ++out_.restarts;
    out_.left_out.add("epoch", "of an earlier training in the same log",
                      static_cast<std::int64_t>(out_.epochs.size()));
    out_.epochs.clear();
    out_.failure.clear();
  }

  void begin_epoch(std::string_view words) {
    const auto number = number_before(words, " is "), seconds = number_before(words, " sec, avg ");
    const auto rate = number_before(words, " samples/sec");
    const bool fits = number && seconds && rate && *number >= 1 && *number <= 1e9 && std::isfinite(*rate) &&
                      *seconds > 0 && *rate > 0 && std::isfinite(*seconds * *rate);
    if (!fits) return out_.left_out.add("epoch", "its line holds no number, seconds and rate");
    const auto epoch = static_cast<std::int64_t>(*number);
    if (!out_.epochs.empty() && epoch <= out_.epochs.back().number) {  // begun again without a note
      forget_training();
      out_.started.clear();
      begins_.reset();
    }
    if (!begins_) begins_ = now_s_ - *seconds;
    if (out_.epochs.size() >= kMostEpochs)
      throw Error("the log has more than " + human_count(kMostEpochs) + " epochs", name_,
                  "is it the right file?");
    LoggedEpoch next;
    next.number = epoch;
    next.seconds = *seconds;
    next.samples_per_s = *rate;
    next.trained_at_s = since_begin();
    next.memory_gib = std::exchange(memory_gib_, std::nullopt);
    out_.epochs.push_back(next);
  }

  void take_result(std::string_view words) {
    if (take(words, "Memory usage after forward pass: ")) memory_gib_ = number_before(words, " GB");
    if (out_.epochs.empty()) {
      if (words.starts_with("Avg ")) out_.left_out.add("value", "it stands before the first epoch");
      return;
    }
    LoggedEpoch& last = out_.epochs.back();
    if (take(words, "Avg train loss=")) {
      last.train_loss = loss_of(words, last.train_loss);
    } else if (take(words, "Avg val loss=")) {
      last.valid_loss = loss_of(words, last.valid_loss);
      last.scored_at_s = since_begin();
    } else if (take(words, "Total validation time: ")) {
      last.valid_s = number_before(words, " sec");
    }
  }

  std::optional<double> loss_of(std::string_view words, const std::optional<double>& before) {
    const std::optional<double> out = number_of<double>(words);
    if (!out) out_.left_out.add("value", "it is no number");
    if (out && before) out_.left_out.add("value", "a later one of the same epoch counts");
    return out ? out : before;
  }

  double since_begin() const { return std::max(0.0, now_s_ - *begins_); }

  const std::string& name_;
  EpochLog out_;
  double now_s_ = 0;
  std::optional<double> begins_, memory_gib_;
};

constexpr std::uint64_t kMostTableBytes = 256U << 20;
constexpr std::size_t kMostColumns = 512, kMostRows = 2'000'000, kMostNameBytes = 120;
constexpr std::size_t kMostCells = 50'000'000;  // empty ones take memory too

struct Place {
  const std::string& name;
  std::size_t line = 0;

  [[noreturn]] void refuse(const std::string& what, const std::string& hint) const {
    throw Error(what, fmt::format("{}:{}", name, line), hint);
  }
};

/// RFC 4180 within one line.
std::vector<std::string> cells_of(std::string_view line, const Place& place) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      out.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      if (out.size() > kMostColumns + 2) place.refuse("more than 512 columns", "is it the right file?");
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  if (quoted) place.refuse("a quotation mark is not closed", "names of metrics stay on one line");
  return out;
}

/// Steps are whole; a table that pandas wrote again has them as "31.0".
std::optional<std::int64_t> count_of(std::string_view text) {
  constexpr double kMost = 1e12;
  const std::optional<double> value = number_of<double>(text);
  const bool fits = value && *value >= 0 && *value < kMost;
  if (!fits || *value != static_cast<double>(static_cast<std::int64_t>(*value))) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

class TableReader {
 public:
  TableReader(std::vector<std::string> head, const Place& place) : width_(head.size()) {
    for (std::size_t i = 0; i < head.size(); ++i) {
      if (head[i] == "step" || head[i] == "epoch") {
        std::size_t& place_of = head[i] == "step" ? step_ : epoch_;
        if (place_of != width_)
          place.refuse("two columns \"" + head[i] + "\"", "are two tables joined side by side?");
        place_of = i;
      } else {
        table_.columns.push_back(printable(head[i], kMostNameBytes));
      }
    }
    if (step_ == width_)
      place.refuse("the table has no column \"step\"", "metrics.csv of Lightning's CSVLogger has one");
    if (table_.columns.size() > kMostColumns) place.refuse("more than 512 columns", "is it the right file?");
  }

  void take(const std::vector<std::string>& cells, const Place& place) {
    if (cells.size() != width_)
      place.refuse(fmt::format("{} in a table of {}",
                               counted(static_cast<std::int64_t>(cells.size()), "cell"), width_),
                   "was the file cut short, or are two joined?");
    if (table_.rows.size() >= kMostRows || (table_.rows.size() + 1) * width_ > kMostCells)
      place.refuse("the table has too many rows", "log less often: log_every_n_steps");
    const std::optional<std::int64_t> step = count_of(cells[step_]);
    if (!step)
      place.refuse("the step \"" + printable(cells[step_], 40) + "\" is no count",
                   "it counts from 0, and to 10^12 at most");
    MetricsRow row;
    row.step = *step;
    for (std::size_t i = 0; i < width_; ++i) {
      if (i == step_) continue;
      if (i == epoch_) {
        row.epoch = count_of(cells[i]);
      } else {
        row.values.push_back(number_of<double>(cells[i]));
      }
      const bool is_known = i == epoch_ ? row.epoch.has_value() : row.values.back().has_value();
      if (!is_known && !cells[i].empty()) table_.left_out.add("cell", "it holds no number");
    }
    table_.rows.push_back(std::move(row));
  }

  MetricsTable result(std::string_view rest) {
    if (rest.find_first_not_of(" \r") != std::string_view::npos) table_.left_out.add("line", kNoEnd);
    return std::move(table_);
  }

 private:
  std::size_t width_;
  std::size_t step_ = width_, epoch_ = width_;
  MetricsTable table_;
};

}  // namespace

std::string EpochLog::setting(std::string_view name) const {
  const auto found = settings.find(name);
  return found == settings.end() ? "" : found->second;
}

EpochLog parse_epoch_log(std::string_view text, const std::string& name) {
  LogBuilder builder(name);
  text = take_lines(text, [&](std::string_view line) { builder.take_line(line); });
  EpochLog out = builder.result();
  if (!trimmed(text).empty()) out.left_out.add("line", kNoEnd);
  return out;
}

EpochLog read_epoch_log(const std::filesystem::path& file) {
  return parse_epoch_log(read_text_file(file, kMostLogBytes), printable(file.string(), 4096));
}

std::optional<std::size_t> MetricsTable::column(std::string_view name) const {
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

MetricsTable parse_metrics_csv(std::string_view text, const std::string& name) {
  Place place{name};
  std::optional<TableReader> reader;
  text = take_lines(text, [&](std::string_view line) {
    ++place.line;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) return;
    std::vector<std::string> cells = cells_of(line, place);
    if (reader) {
      reader->take(cells, place);
    } else {
      reader.emplace(std::move(cells), place);
    }
  });
  if (!reader) place.refuse("the table is empty", "Lightning writes it every flush_logs_every_n_steps");
  return reader->result(text);
}

MetricsTable read_metrics_csv(const std::filesystem::path& file) {
  return parse_metrics_csv(read_text_file(file, kMostTableBytes), printable(file.string(), 4096));
}

}  // namespace isobar
