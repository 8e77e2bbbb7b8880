#include <cmath>

#include "config/config.h"
#include "lessons/lesson_run.h"
#include "support/bin_folder.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

/// Trains cpu_tiny: its error of u10m on a later period is at most so many persistences at the end.
void check_skill(int steps, double persistences) {
  const TempFolder folder;
  const std::string bin = bin_folder(ISOBAR_BIN);
  DataConfig wanted;
  wanted.grid = {72, 144};
  fs::path root = data_root(wanted);  // a newcomer's, where there is one
  if (!fs::exists(root / "dataset.toml")) {
    root = folder / "data";
    REQUIRE(run_process({bin + "/make_fields", "--out", root}).code == 0);
  }
  const ProcessResult result = run_process({bin + "/01_baseline", "--preset", "cpu_tiny", "--run-dir",
                                            folder / "run", "--set", "data.root=" + root.string(), "--set",
                                            "run.threads=1", "--set", "train.steps=" + std::to_string(steps)},
                                           {.deadline_s = 800});
  REQUIRE(result.code == 0);
  const Json last = of_kind(stream(folder / "run"), "eval").back();
  CHECK(last["step"] == steps);
  CHECK(last["rmse_u10m"].as_number() <= persistences * last["persistence_rmse_u10m"].as_number());
  CHECK(last["rmse_u10m"].as_number() < 0.5 * last["climatology_rmse_u10m"].as_number());

  const Json summary = of_kind(stream(folder / "run"), "summary").back();
  const double predicted = summary["predicted_bytes"].as_number();
  const double measured = summary["peak_bytes"].as_number();
  WARN("memory: " << predicted * 1e-6 << " MB predicted, " << measured * 1e-6 << " MB measured");
  CHECK(std::abs(predicted - measured) <= 0.1 * measured);
}

}  // namespace

TEST_CASE("cpu_tiny beats persistence by a twentieth after 160 of its steps") { check_skill(160, 0.95); }

TEST_CASE("cpu_tiny beats persistence by a quarter after its 900 steps", "[.nightly]") {
  check_skill(900, 0.75);
}
