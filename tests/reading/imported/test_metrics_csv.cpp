#include <cmath>

#include "core/files.h"
#include "imported/lightning_run.h"
#include "imported/metrics_csv.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

ForeignRun run_of(const std::string& text, const ImportWish& wish = {}) {
  const TempFolder folder;
  write_file_whole(folder / "metrics.csv", std::string_view(text));
  return read_lightning_run(folder / "metrics.csv", wish);
}

}  // namespace

TEST_CASE("Lightning's table has its columns and empty cells") {
  const MetricsTable table = read_metrics_csv("tests/reading/imported/logs/metrics.csv");
  CHECK(table.columns.size() == 5);
  CHECK(table.column("val_rmse, u10m") == 3);
  CHECK(table.rows.size() == 11);
  CHECK_FALSE(table.rows[0].epoch.has_value());
  CHECK(table.rows[1].step == 3);
  CHECK(table.rows[1].values[*table.column("train_loss_step")] == 0.9);
  CHECK_FALSE(table.rows[1].values[*table.column("val_loss")].has_value());
}

TEST_CASE("Lightning's table becomes steps and scores") {
  const ForeignRun run = read_lightning_run("tests/reading/imported/logs/metrics.csv", {.batch = 4});
  CHECK(run.source == "lightning");
  REQUIRE(run.steps.size() == 4);
  CHECK(run.steps[0].step == 3);
  CHECK(run.steps[0].stands_for == 4);
  CHECK(run.steps[1].loss == 0.7);  // that of the step, not of the epoch
  CHECK(run.steps[1].lr == 0.0009);
  CHECK(std::isnan(*run.steps[3].loss));
  REQUIRE(run.scores.size() == 2);
  CHECK(run.scores[0].step == 8);  // after steps 0 to 7
  CHECK(run.scores[1].loss == 0.6);
  CHECK(run.scores[1].others.front().first == "rmse__u10m");
  CHECK(run.steps_per_epoch == 8);
  CHECK(run.left_out.empty());
  CHECK(run.steps[1].others == std::vector<std::pair<std::string, double>>{{"loss_epoch", 0.8}});
  CHECK(run.batch == 4);
}

TEST_CASE("columns of losses are named where their names do not tell") {
  const std::string text = "step,energy,quality\n0,2.0,\n0,,1.5\n";
  CHECK_THAT(error_of([&] { run_of(text); }), says("no column is a loss by its name: energy, quality"));
  const ForeignRun run = run_of(text, {.train_loss = "energy", .valid_loss = "quality"});
  CHECK(run.steps.front().loss == 2.0);
  CHECK(run.scores.front().loss == 1.5);
  CHECK_THAT(error_of([&] { run_of(text, {.train_loss = "enrgy"}); }), says("did you mean energy?"));
}

TEST_CASE("keys of a table never take the place of ours") {
  const ForeignRun run = run_of("step,train_loss,train_step_us,train_loss/a b,train_epoch\n0,1.0,-5,2.0,7\n");
  REQUIRE(run.steps.front().others.size() == 3);
  CHECK(run.steps.front().others[0].first == "step_us_logged");
  CHECK(run.steps.front().others[1].first == "loss_a_b");
  CHECK(run.steps.front().others[2].first == "epoch_logged");
}

TEST_CASE("two columns whose names come to one key both stay") {
  const ForeignRun run = run_of("step,train_loss,train_acc,train/acc\n0,1,2,3\n");
  using Others = std::vector<std::pair<std::string, double>>;
  CHECK(run.steps.front().others == Others{{"acc", 2}, {"acc_2", 3}});
}

TEST_CASE("a second training that goes on in the table counts from where it begins") {
  const ForeignRun run = run_of("step,train_loss,val_loss\n0,9,\n1,8,\n1,,7\n0,5,\n0,,4\n");
  CHECK(run.steps.size() == 1);
  CHECK(run.steps.front().loss == 5.0);
  CHECK(run.scores.size() == 1);
  CHECK(run.scores.front().loss == 4.0);
  CHECK(run.left_out.count("value") == 3);
  const ForeignRun cut = run_of("step,train_loss,val_loss\n0,9,\n9,8,\n9,,7\n5,5,\n");
  CHECK(cut.scores.empty());  // that of step 9 is of the training before
  const ForeignRun stray = run_of("epoch,step,train_loss\n0,4,9\n0,9,8\n1,14,7\n1,5,6\n");
  CHECK(stray.steps.size() == 3);  // no training is in epoch 1 at step 5
  CHECK_THAT(stray.left_out.sentences().at(0),
             says("1 value left out: their row goes back to a step of another epoch"));
  CHECK(run_of("epoch,step,train_loss\n0,4,9\n0,9,8\n1,14,7\n0,5,6\n").steps.size() == 2);
}

TEST_CASE("a table of endless rows is refused with the line where it became too long") {
  std::string text = "step\n";
  for (int row = 0; row <= 2'000'000; ++row) text += "1\n";
  const std::string error = error_of([&] { parse_metrics_csv(text, "big.csv"); });
  CHECK_THAT(error, says("too many rows") && says("big.csv:2000002"));
}

TEST_CASE("half a last line waits, and line ends of Windows are taken") {
  CHECK(parse_metrics_csv("step,loss\r\n0,1\r\n1", "t").rows.size() == 1);
  CHECK(parse_metrics_csv("step,loss\n0,1\n1,2", "t").rows.size() == 1);  // of 1,25 perhaps
}
