#include "imported/epoch_log.h"

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
    if (!out_.epochs.empty() && epoch <= out_.epochs.back().number) {  // begun again without saying so
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

}  // namespace

std::string EpochLog::setting(std::string_view name) const {
  const auto found = settings.find(name);
  return found == settings.end() ? "" : found->second;
}

EpochLog parse_epoch_log(std::string_view text, const std::string& name) {
  LogBuilder builder(name);
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    builder.take_line(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  EpochLog out = builder.result();
  if (!trimmed(text).empty()) out.left_out.add("line", kNoEnd);
  return out;
}

EpochLog read_epoch_log(const std::filesystem::path& file) {
  return parse_epoch_log(read_text_file(file, kMostLogBytes), printable(file.string(), 4096));
}

}  // namespace isobar
