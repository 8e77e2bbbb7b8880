// out.log of any bytes.
#include <cmath>

#include "core/error.h"
#include "fuzz/checks.h"
#include "imported/log_files.h"

using namespace isobar;

namespace {

void check_time(const std::optional<double>& at_s) { require(!at_s || (*at_s >= 0 && std::isfinite(*at_s))); }

/// Epochs go forward and can be counted in samples, times do not go back before the begin, names can be
/// shown.
void check(const EpochLog& log, std::size_t bytes) {
  require(log.epochs.size() <= bytes && log.settings.size() <= bytes);
  std::int64_t before = 0;
  for (const LoggedEpoch& epoch : log.epochs) {
    require(epoch.number > before);
    before = epoch.number;
    require(epoch.seconds > 0 && epoch.samples_per_s > 0 && std::isfinite(epoch.samples()));
    check_time(epoch.trained_at_s);
    check_time(epoch.scored_at_s);
  }
  for (const auto& [name, value] : log.settings) {
    check_text(name);
    check_text(value);
  }
  check_text(log.started);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const EpochLog log = parse_epoch_log(input, "fuzz");  // no input of a fuzzer has 100,000 epochs
  check(log, size);
  // Half a line is none, and lines of other programs change nothing.
  const EpochLog again = parse_epoch_log(
      "another program\n" + input.substr(0, input.rfind('\n') + 1) + "another program\nhalf", "fuzz");
  require(again.epochs.size() == log.epochs.size() && again.settings == log.settings);
  require(again.restarts == log.restarts && again.started == log.started && again.failure == log.failure);
  return 0;
}
