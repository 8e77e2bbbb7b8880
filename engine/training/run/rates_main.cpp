// isobar-rates: measures what this machine's processors reach in the work of a training step, and keeps it in
// a file (formula/machine_rates.h), by which predictions for this machine are made.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "config/option_parser.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/live_terminal.h"
#include "core/named_file.h"
#include "core/processors.h"
#include "launch/supervise.h"
#include "run/measure_link.h"
#include "run/measure_rates.h"
#include "running/signals.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

/// How every file of rates begins.
std::string_view head() {
  static const std::string empty = to_toml(MachineRates());
  return std::string_view(empty).substr(0, empty.find('\n'));
}

struct Options {
  NamedFile out = {.path = machine_rates_file(), .option = "--out", .kind = "file of rates", .mark = head()};
  bool quick = false;
  bool is_link_rank = false;
};

/// False when only help was wanted.
bool parse(int argc, char** argv, Options& options) {
  OptionParser app(
      "Measures what this machine's processors reach in the work of a training step, and keeps it.",
      "isobar-rates");
  const auto out = app.add("--out", options.out.path,
                           fmt::format("file to keep it in; default {}", options.out.path.string()));
  app.flag(kReplace, options.out.replace, kReplaceHelp);
  app.flag("--quick", options.quick, "fewer repeats: rough figures in a few seconds");
  app.group("");
  app.flag("--link", options.is_link_rank, "be a rank between which the link is measured");
  const bool parsed = app.parse(argc, argv);
  options.out.replace |= !out.given();  // then it is ours, and made anew where it is damaged
  return parsed;
}

/// Before half a minute is spent: whether the file can be written in the end.
void check_place(const NamedFile& file) {
  const fs::path folder = fs::absolute(file.path).parent_path();
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) throw system_error("cannot make the folder", folder.string(), code.value());
  place_of(file);
  if (::access(folder.c_str(), W_OK) != 0) throw system_error("cannot write rates", folder.string(), errno);
}

/// On a terminal one live line.
void tell(const std::string& what) {
  const bool is_terminal = is_live_terminal(STDERR_FILENO);
  std::fprintf(stderr, "%s  measuring this machine, once: %s ...%s", is_terminal ? "\r\x1b[K" : "",
               what.c_str(), is_terminal ? "" : "\n");
}

void end_live_line() {
  if (is_live_terminal(STDERR_FILENO)) std::fputs("\r\x1b[K", stderr);
}

std::vector<int> thread_counts() {
  const int all = usable_cores();
  return all > 1 ? std::vector<int>{1, all} : std::vector<int>{1};
}

MachineRates measure(const Options& options) {
  const RateSizes sizes = options.quick ? RateSizes::quick() : RateSizes{};
  MachineRates out = measure_rates(sizes, thread_counts(), tell);
  tell("the link between two ranks");
  out.link = measure_link();
  return out;
}

int measure_and_keep(const Options& options) {
  check_place(options.out);
  const StopSignals signals;
  const ProcessorTime begin = thread_processor_time();
  MachineRates rates;
  try {
    rates = measure(options);
  } catch (const MeasuringStopped& stopped) {
    end_live_line();
    std::fprintf(stderr, "stopped; nothing was kept\n");
    return 128 + stopped.signal;
  }
  end_live_line();
  const ProcessorTime end = thread_processor_time();
  rates.processor_wait = std::clamp(end.waited_since(begin), 0.0, 1.0);
  write_named_file(options.out, to_toml(rates));
  std::fprintf(stderr, "measured %s in %.0f s, kept in %s\n", rates.machine.c_str(),
               static_cast<double>(end.at_us - begin.at_us) * 1e-6, options.out.path.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  follow_launcher();
  return guarded_main("isobar-rates", [&] {
    Options options;
    if (!parse(argc, argv, options)) return 0;
    if (!options.is_link_rank) return measure_and_keep(options);
    run_link_rank();
    return 0;
  });
}
