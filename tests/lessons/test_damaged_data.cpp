// A trainer whose data is damaged, before it starts or under its hands.
#include <thread>

#include "core/files.h"
#include "fields/npy.h"
#include "lessons/lesson_run.h"
#include "lessons/paused_run.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/until.h"

namespace isobar::test_damaged_data {

namespace fs = std::filesystem;

namespace {

using Sets = std::vector<std::string>;

/// Settings for a copy of the small data set, to damage.
Sets own_data(const TempFolder& folder) {
  const std::string& root = coarse().back();
  fs::copy(root.substr(root.find('=') + 1), folder / "data", fs::copy_options::recursive);
  return with(coarse(), {"data.root=" + (folder / "data").string()});
}

/// As often as it takes: a checkpoint may be begun in it meanwhile.
void remove_under_training(const fs::path& run) {
  until([&] {
    std::error_code code;
    fs::remove_all(run, code);
    return !fs::exists(run);
  });
}

/// Trains until `change` is made to the data or the run folder, once the first steps are in the stream.
ProcessResult train_until(const TempFolder& folder, const Sets& sets, const std::function<void()>& change) {
  std::thread changer([&] {
    const fs::path file = folder / "run/rank-0000.jsonl";
    until([&] {
      std::error_code code;
      return fs::file_size(file, code) > 2000 && !code &&
             read_text_file(file, 1 << 24).find("\"step\"") != std::string::npos;
    });
    change();
  });
  const ProcessResult result = train(folder / "run", with(sets, {"train.steps=1000000"}));
  changer.join();
  return result;
}

}  // namespace

TEST_CASE("a climatology of zeros is left out of a run, which prints why") {
  const TempFolder folder;
  const Sets own = own_data(folder);
  const NpyArray means = read_npy(folder / "data/stats/time_means.npy");
  write_npy(folder / "data/stats/time_means.npy", means.shape, std::vector<float>(means.values.size()));
  const ProcessResult result = train(folder / "run", with(own, {"train.steps=1"}));
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, says("note    the climatology is all zeros in channel "));
  for (const Json& eval : of_kind(stream(folder / "run"), "eval")) {
    CHECK(eval.contains("rmse_u10m"));
    CHECK_FALSE(eval.contains("climatology_rmse_u10m"));
    CHECK_FALSE(eval.contains("acc_u10m"));
  }
}

TEST_CASE("a data set with a damaged year is refused before training, by name") {
  const TempFolder folder;
  const Sets own = own_data(folder);
  fs::resize_file(folder / "data/train/2002.h5", 100'000);
  const ProcessResult cut = train(folder / "run", own);
  CHECK(cut.code == 2);
  CHECK_THAT(cut.err, says("train/2002.h5") && says("copy it again"));
  write_file_whole(folder / "data/train/2002.h5", "text");
  const ProcessResult foreign = train(folder / "run2", own);
  CHECK(foreign.code == 2);
  CHECK_THAT(foreign.err, says("not an HDF5 file") && says("train/2002.h5"));
}

TEST_CASE("a year file that is cut or removed under a training ends it with exit code 1, file and record") {
  const std::vector<std::pair<std::function<void(const fs::path&)>, std::string>> changes = {
      {[](const fs::path& path) { fs::resize_file(path, 100'000); }, "the file has 100000 bytes"},
      {[](const fs::path& path) { fs::remove(path); }, "was removed"}};
  for (const auto& [change, reason] : changes) {
    const TempFolder folder;
    const Sets own = own_data(folder);
    const ProcessResult result = train_until(folder, own, [&] { change(folder / "data/train/2001.h5"); });
    CHECK(result.code == 1);
    CHECK_THAT(result.err, says("record ") && says(reason) && says("train/2001.h5"));
    const std::vector<Json> lines = stream(folder / "run");
    CHECK(lines.back()["kind"] == "end");  // what it did before is readable
    CHECK(lines.back()["status"] == "failed");
  }
}

TEST_CASE("a run folder that is moved or removed under a training is not its user's mistake: exit code 1") {
  const TempFolder folder;
  const Sets own = own_data(folder);
  const Sets saves = with(own, {"train.checkpoint_every=20"});
  const ProcessResult moved =
      train_until(folder, saves, [&] { fs::rename(folder / "run", folder / "moved"); });
  CHECK(moved.code == 1);
  CHECK_THAT(moved.err, says("the run folder was moved or removed while it was written to") &&
                            says((folder / "run").string()));
  const std::vector<Json> lines = stream(folder / "moved");
  CHECK(lines.back()["kind"] == "end");  // which goes with the folder
  CHECK(lines.back()["status"] == "failed");
  const ProcessResult removed = train_until(folder, saves, [&] { remove_under_training(folder / "run"); });
  CHECK(removed.code == 1);
  CHECK_THAT(removed.err, says("run folder was moved or removed while it was written to"));
  CHECK_FALSE(fs::exists(folder / "run"));
  // A removal that is seen half way: the file by which the owner is known is the last.
  const ProcessResult half = train_until(folder, own, [&] { remove_under_training(folder / "run/fields"); });
  CHECK(half.code == 1);
  CHECK_THAT(half.err, says("a part of the run folder was moved or removed while it was written to") &&
                           says((folder / "run/fields").string()));
  remove_under_training(folder / "run");
  // One that only measures writes into open files to its end.
  const fs::path paused = folder / "paused";
  ProcessOptions options = paused_in_step("30", paused, 0);
  options.interrupted = [&] {
    remove_under_training(folder / "run");
    fs::remove(paused);
  };
  const ProcessResult measured = train(
      folder / "run",
      with(own, {"train.steps=40", "run.measure=full", "run.fault=slow_stage", "run.fault_ms=10"}), options);
  CHECK(measured.code == 1);
  CHECK_THAT(measured.err, says("the run folder was moved or removed while it was written to"));
}

}  // namespace isobar::test_damaged_data
