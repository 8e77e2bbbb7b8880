#include "bench/step_sides.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "bench/bench_result.h"
#include "bench/peers.h"
#include "core/error.h"
#include "core/files.h"
#include "support/bin_folder.h"
#include "support/tolerance_values.h"

namespace isobar {
namespace {

namespace fs = std::filesystem;

constexpr int kWarmUp = 2;  // first steps of a block: the caches hold the other side's data

std::vector<std::string> peer_command(const fs::path& folder) {
  std::vector<std::string> words = peer_words("step_peer.py");
  words.push_back(folder.string());
  return words;
}

std::vector<std::string> whole_environment(const fs::path& peers, const std::vector<std::string>& more) {
  std::vector<std::string> out = peer_environment(peers);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace

Worker our_step(const fs::path& folder, const nlohmann::ordered_json& sheet,
                const std::vector<std::string>& environment) {
  write_file_whole(folder / "case.json", sheet.dump());
  return {"our side",
          {bin_folder(ISOBAR_BIN) + "/bench_step_worker", folder.string()},
          environment,
          folder / "ours.log",
          kStepPatience_s};
}

StepSides::StepSides(const fs::path& folder, const nlohmann::ordered_json& sheet, const fs::path& peers,
                     const std::vector<std::string>& environment)
    : ours(our_step(folder, sheet)),
      peer("PyTorch's side", peer_command(folder), whole_environment(peers, environment), folder / "peer.log",
           kStepPatience_s),
      tolerance_(sheet["tf32"]                 ? kLossTf32
                 : sheet.value("fused", false) ? kLossFused
                                               : kLoss) {}

double StepSides::largest_difference(const std::string& form) {
  ours.ask("reset", kStepPatience_s);
  peer.ask("reset " + form, kStepPatience_s);
  const std::vector<double> mine = ours.ask("losses 10", kStepPatience_s)["losses"];
  const std::vector<double> theirs = peer.ask("losses 10", kStepPatience_s)["losses"];
  double worst = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    const double difference = std::abs(mine.at(i) - theirs.at(i));
    worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
  }
  if (worst > tolerance_) {
    throw Error(fmt::format("the losses of ten steps differ by {:.3g}; nothing was timed", worst),
                fmt::format("ours: {:.9g}; PyTorch's, {}: {:.9g}", fmt::join(mine, " "), form,
                            fmt::join(theirs, " ")),
                "./build/bin/test_train compares the parts with PyTorch's", Exit::failed);
  }
  return worst;
}

std::string StepSides::better_form(int steps) {
  std::map<std::string, std::vector<double>> times;
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (const char* form : {"loop", "foreach"}) {
      peer.ask(fmt::format("reset {}", form), kStepPatience_s);
      times[form].push_back(step_block(peer, steps)["step"]);
    }
  }
  return median(times["loop"]) < median(times["foreach"]) ? "loop" : "foreach";
}

std::map<std::string, double> step_block(Worker& worker, int steps) {
  // Idle OpenMP threads of the other side spin for some milliseconds before they sleep.
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const nlohmann::json times = worker.ask(fmt::format("run {}", kWarmUp + steps), kStepPatience_s);
  std::map<std::string, double> out;
  for (const auto& [part, values] : times.items()) {
    const std::vector<double> all = values;
    out[part] = median({all.begin() + kWarmUp, all.end()}) * 1e-3;
  }
  return out;
}

}  // namespace isobar
