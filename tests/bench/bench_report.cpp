#include "bench/bench_report.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "bench/comparison.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr const char* kOut = "--out";
constexpr const char* kAgainst = "--against";
constexpr const char* kJson = "--json";

/// The words that say what is measured.
std::vector<std::string> told_options(int argc, char** argv) {
  std::vector<std::string> out;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool takes_next = word == kOut || word == kAgainst;
    const bool is_place =
        word.rfind(kOut + std::string("="), 0) == 0 || word.rfind(kAgainst + std::string("="), 0) == 0;
    if (takes_next) ++i;
    const bool is_of_output = takes_next || is_place || word == kJson || word == kReplace;
    if (!is_of_output) out.push_back(printable(word));
  }
  return out;
}

}  // namespace

BenchReport::BenchReport(std::string bench, OptionParser& parser)
    : bench_(std::move(bench)), parser_(parser) {
  parser.add(kOut, out_.path, "write the result to this JSON file");
  parser.flag(kReplace, out_.replace, kReplaceHelp);
  parser.add(kAgainst, against_,
             "a result recorded with --out: print ratios to it, and what differs between the machines");
  parser.flag(kJson, json_, "print the result as one JSON object, and nothing else");
  parser.flag("--quick", quick_, "few repeats: shows that the bench works, says little about speed");
}

bool BenchReport::parse(int argc, char** argv) {
  const std::string command = "./isobar bench " + bench_;
  if (!parser_.parse(argc, argv, {.where = command, .hint = command + " --help lists the options"}))
    return false;
  options_ = told_options(argc, argv);
  if (!out_.path.empty()) place_of(out_);
  if (parser_.given(kAgainst)) recorded_ = read_result(against_, bench_);
  return true;
}

void BenchReport::say(const std::string& words) const {
  if (json_) return;
  fmt::print("{}\n", words);
  std::fflush(stdout);
}

void BenchReport::add(const BenchRow& row) {
  if (!json_) print_row(row);
  take(row_json(row));
}

void BenchReport::add(const PairedRow& row) {
  if (!json_) print_row(row);
  take(row_json(row));
}

void BenchReport::refuse(const std::string& name, const std::string& peer_name, const Error& why) {
  refused_ = true;
  say(fmt::format("  {}: {}", name, why.text()));
  take({{"case", name}, {"peer_name", peer_name}, {"not_measured", why.text()}});
}

void BenchReport::take(nlohmann::ordered_json row) {
  rows_.push_back(std::move(row));
  if (out_.path.empty() || !watch_) return;
  nlohmann::ordered_json so_far = result_json(bench_, options_, watch_->finish(), rows_);
  so_far["complete"] = false;
  write_result(out_, so_far);
}

void BenchReport::begin() { watch_.emplace(); }

void BenchReport::compare_with_recorded(nlohmann::ordered_json& result) {
  const std::string file = printable(std::filesystem::path(against_).filename().string());
  try {
    const Comparison comparison = compare(*recorded_, parse_result(result.dump(), bench_, "this result"));
    say(fmt::format("\nagainst {}, recorded {}", file, comparison.date));
    for (const std::string& line : comparison_lines(comparison)) say(line);
    result["against"] = {{"file", file}};
    result["against"].update(comparison_json(comparison));
  } catch (const Error& error) {  // a figure that is no number, say: what was measured is kept all the same
    refused_ = true;
    fmt::print(stderr, "isobar bench {}: not compared with {}\n{}\n", bench_, file, error.text());
  }
}

int BenchReport::finish() {
  const nlohmann::ordered_json machine = watch_.value().finish();
  say(fmt::format("  {}, {} cores; load {:.2f} before and {:.2f} after",
                  machine["processor"].get<std::string>(), machine["cores"].get<int>(),
                  machine["before"]["load"].get<double>(), machine["after"]["load"].get<double>()));
  for (const std::string& doubt : doubts(machine)) {
    fmt::print(stderr, "isobar bench {}: warning: {}; repeat it when the machine is quiet\n", bench_, doubt);
  }
  nlohmann::ordered_json result = result_json(bench_, options_, machine, rows_);
  if (recorded_) compare_with_recorded(result);
  if (json_) fmt::print("{}\n", result.dump(2));
  if (!out_.path.empty()) {
    write_result(out_, result);
    say("written: " + out_.path.string());
  }
  return static_cast<int>(refused_ ? Exit::failed : Exit::done);
}

}  // namespace isobar
