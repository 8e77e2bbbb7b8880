#include "bench/bench_report.h"

#include <fmt/format.h>

#include <cstdio>

#include "core/error.h"

namespace isobar {

BenchReport::BenchReport(std::string bench, OptionParser& parser) : bench_(std::move(bench)) {
  parser.add("--out", out_, "write the result to this JSON file");
  parser.flag("--json", json_, "print the result as one JSON object, and nothing else");
  parser.flag("--quick", quick_, "few repeats: shows that the bench works, says little about speed");
}

void BenchReport::say(const std::string& words) const {
  if (json_) return;
  fmt::print("{}\n", words);
  std::fflush(stdout);
}

void BenchReport::add(const BenchRow& row) {
  if (!json_) print_row(row);
  rows_.push_back(row_json(row));
}

void BenchReport::add(const PairedRow& row) {
  if (!json_) print_row(row);
  rows_.push_back(row_json(row));
}

void BenchReport::finish(const MachineWatch& watch) {
  const nlohmann::ordered_json machine = watch.finish();
  say(fmt::format("  {}, {} cores; load {:.2f} before and {:.2f} after",
                  machine["processor"].get<std::string>(), machine["cores"].get<int>(),
                  machine["before"]["load"].get<double>(), machine["after"]["load"].get<double>()));
  for (const std::string& doubt : doubts(machine)) {
    fmt::print(stderr, "isobar bench {}: warning: {}; repeat it when the machine is quiet\n", bench_, doubt);
  }
  const nlohmann::ordered_json result = result_json(bench_, machine, rows_);
  if (json_) fmt::print("{}\n", result.dump(2));
  if (out_.empty()) return;
  write_result(out_, result);
  say("written: " + out_);
}

bool parse_bench(OptionParser& parser, const std::string& bench, int argc, char** argv) {
  return parser.parse(
      argc, argv,
      {.where = "./isobar bench " + bench, .hint = "./isobar bench " + bench + " --help lists the options"});
}

}  // namespace isobar
