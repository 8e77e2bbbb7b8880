#pragma once
// What every bench shares: its options, and where its words, its table and its JSON go.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench_result.h"
#include "bench/recorded_result.h"
#include "config/option_parser.h"
#include "core/error.h"
#include "core/named_file.h"

namespace isobar {

class BenchReport {
 public:
  /// Adds --out FILE, --replace, --against FILE, --json and --quick to `parser`, which outlives it.
  BenchReport(std::string bench, OptionParser& parser);

  /// Parses the words behind the bench's name, and reads the recorded result if one is named. False when help
  /// was asked for and printed; what is wrong is an Error (exit code 2).
  bool parse(int argc, char** argv);

  bool quick() const { return quick_; }

  /// Words for a person: on stdout, nowhere with --json.
  void say(const std::string& words) const;
  void add(const BenchRow& row);
  void add(const PairedRow& row);

  /// Instead of a row: why there is none ("losses differ"). The others are measured all the same.
  void refuse(const std::string& name, const std::string& peer_name, const Error& why);

  /// From now on what the machine does is watched, and --out holds every row as soon as it is there, beside
  /// "complete": false: a bench that is cut off loses none.
  void begin();
  /// Tells what the machine was doing and how it compares with the recorded result, writes --out and prints
  /// --json. Call it when all workers have ended. The exit code: 1 when a row was refused.
  int finish();

 private:
  void take(nlohmann::ordered_json row);
  /// Adds "against" to `result`.
  void compare_with_recorded(nlohmann::ordered_json& result);

  std::string bench_;
  OptionParser& parser_;
  std::vector<std::string> options_;  ///< as they were typed, but for those that say where results go
  NamedFile out_ = {.path = {}, .option = "--out", .kind = "result of a bench", .mark = kResultMark};
  std::string against_;
  std::optional<RecordedResult> recorded_;
  bool json_ = false;
  bool quick_ = false;
  bool refused_ = false;
  std::optional<MachineWatch> watch_;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
};

}  // namespace isobar
