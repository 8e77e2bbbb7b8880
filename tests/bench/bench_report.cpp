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
  if (out_.empty() || !watch_) return;
  nlohmann::ordered_json so_far = result_json(bench_, watch_->finish(), rows_);
  so_far["complete"] = false;
  write_result(out_, so_far);
}

void BenchReport::begin() { watch_.emplace(); }

int BenchReport::finish() {
  const nlohmann::ordered_json machine = watch_.value().finish();
  say(fmt::format("  {}, {} cores; load {:.2f} before and {:.2f} after",
                  machine["processor"].get<std::string>(), machine["cores"].get<int>(),
                  machine["before"]["load"].get<double>(), machine["after"]["load"].get<double>()));
  for (const std::string& doubt : doubts(machine)) {
    fmt::print(stderr, "isobar bench {}: warning: {}; repeat it when the machine is quiet\n", bench_, doubt);
  }
  const nlohmann::ordered_json result = result_json(bench_, machine, rows_);
  if (json_) fmt::print("{}\n", result.dump(2));
  if (!out_.empty()) {
    write_result(out_, result);
    say("written: " + out_);
  }
  return static_cast<int>(refused_ ? Exit::failed : Exit::done);
}

bool parse_bench(OptionParser& parser, const std::string& bench, int argc, char** argv) {
  return parser.parse(
      argc, argv,
      {.where = "./isobar bench " + bench, .hint = "./isobar bench " + bench + " --help lists the options"});
}

}  // namespace isobar
