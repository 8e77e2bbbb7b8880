// out.log of the tutorial and metrics.csv of Lightning: what is read of them, and what is refused.
#include <cmath>

#include "core/files.h"
#include "imported/foreign_run.h"
#include "imported/log_files.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/hostile.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

EpochLog log_of(const std::string& name) { return read_epoch_log("tests/reading/imported/logs/" + name); }

const std::string kStart = "2026-01-05 10:00:10,000 - root - INFO - Starting Training Loop...\n";

std::string epoch_line(const std::string& words) {
  return "2026-01-05 10:01:14,000 - root - INFO - Time taken for epoch " + words + "\n";
}

ForeignRun run_of(const std::string& text, const ImportWish& wish = {}) {
  const TempFolder folder;
  write_file_whole(folder / "metrics.csv", std::string_view(text));
  return read_lightning_run(folder / "metrics.csv", wish);
}

const std::vector<HostileFile> kMetrics = {
    {"empty", "the table is empty", ":0"},
    {"only-newlines", "the table is empty", ":3"},
    {"no-step", "no column \"step\"", ":1"},
    {"binary", "no column \"step\"", ":1"},
    {"event-file", "the table is empty", ":0"},
    {"html", "no column \"step\"", ":1"},
    {"cells-more", "5 cells in a table of 4", ":2"},
    {"cells-fewer", "2 cells in a table of 4", ":2"},
    {"joined", "7 cells in a table of 4", ":2"},
    {"step-twice", "two columns \"step\"", ":1"},
    {"epoch-twice", "two columns \"epoch\"", ":1"},
    {"step-empty", "the step \"\" is no count", ":2"},
    {"step-word", "the step \"seven\" is no count", ":2"},
    {"step-negative", "the step \"-1\" is no count", ":2"},
    {"step-fraction", "the step \"7.5\" is no count", ":2"},
    {"step-large", "the step \"9e15\" is no count", ":2"},
    {"step-nan", "the step \"nan\" is no count", ":2"},
    {"step-steers", "the step \"?[2J\" is no count", ":2"},
    {"quote-open", "a quotation mark is not closed", ":2"},
    {"quote-open-in-head", "a quotation mark is not closed", ":1"},
    {"columns-513", "more than 512 columns", ":1"},
    {"commas", "more than 512 columns", ":1"},
};

}  // namespace

TEST_CASE("out.log tells each epoch and the configuration") {
  const EpochLog log = log_of("tutorial_out.log");
  REQUIRE(log.epochs.size() == 2);
  CHECK(log.started == "2026-01-05T10:00:10");
  CHECK(log.setting("config") == "short");
  CHECK(log.setting("global_batch_size") == "16");
  CHECK(log.setting("amp_mode") == "bf16");
  CHECK(log.failure.empty());
  const LoggedEpoch& first = log.epochs.front();
  CHECK(first.number == 1);
  CHECK(first.seconds == 64);
  CHECK(first.samples() == 512);
  CHECK(first.train_loss == 0.6);
  CHECK(first.valid_loss == 0.4250001);
  CHECK(first.valid_s == 7.5);
  CHECK(*first.trained_at_s == Approx(64.0));
  CHECK(*first.scored_at_s == Approx(72.0));
  CHECK(*log.epochs.back().scored_at_s == Approx(130.0));
}

TEST_CASE("the log of the model-parallel script has memory, other blanks, and its failure") {
  const EpochLog log = log_of("tutorial_mp_out.log");
  REQUIRE(log.epochs.size() == 1);
  CHECK(log.epochs.front().train_loss == 0.33);
  CHECK(log.epochs.front().valid_loss == 0.25);
  CHECK(log.epochs.front().memory_gib == 32.5);
  CHECK(log.failure == "CUDA out of memory");
}

TEST_CASE("the last training of a log counts") {
  const std::string one = epoch_line("1 is 10.0 sec, avg 16.0 samples/sec");
  const std::string two = epoch_line("2 is 10.0 sec, avg 16.0 samples/sec");
  const EpochLog said = parse_epoch_log(kStart + one + two + kStart + one, "log");
  CHECK(said.epochs.size() == 1);
  CHECK(said.restarts == 1);
  const EpochLog unsaid = parse_epoch_log(one + two + one, "log");
  CHECK(unsaid.epochs.size() == 1);
  CHECK(unsaid.restarts == 1);
  CHECK(*unsaid.epochs.front().trained_at_s == Approx(10.0));
  const std::string died = "torch.cuda.OutOfMemoryError: CUDA out of memory\n";
  CHECK(parse_epoch_log(kStart + one + died, "log").failure == "CUDA out of memory");
  const EpochLog after = parse_epoch_log(kStart + one + two + died + one, "log");
  CHECK(after.failure.empty());  // that of the training before
  CHECK(after.started.empty());
}

TEST_CASE("lines that only look like an epoch are passed over") {
  for (const char* words : {"1 is sec, avg 16.0 samples/sec", "x is 10.0 sec, avg 16.0 samples/sec",
                            "0 is 10.0 sec, avg 16.0 samples/sec", "1 is -10.0 sec, avg 16.0 samples/sec",
                            "1 is 10.0 sec, avg nan samples/sec", "1 is 10.0 sec, avg inf samples/sec",
                            "1 is 1e300 sec, avg 1e300 samples/sec", "1 is 10.0 sec", "",
                            "99999999999999999999 is 10.0 sec, avg 16.0 samples/sec"}) {
    INFO(words);
    const EpochLog log = parse_epoch_log(kStart + epoch_line(words), "log");
    CHECK(log.epochs.empty());
    CHECK(log.left_out.count("epoch") == (*words == 0 ? 0 : 1));
  }
  CHECK(parse_epoch_log(
            "2026-13-05 10:01:14,000 - root - INFO - Time taken for epoch 1 is 1 sec, avg 1 samples/sec\n",
            "log")
            .epochs.empty());
  CHECK(parse_epoch_log(std::string("\0\xff\xfe\n\r\n", 6), "log").epochs.empty());
}

TEST_CASE("a log that is cut off in a line keeps what is whole") {
  const std::string whole = kStart + epoch_line("1 is 10.0 sec, avg 16.0 samples/sec");
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    const EpochLog log = parse_epoch_log(whole.substr(0, cut), "log");
    CHECK(log.epochs.empty());
  }
  CHECK(parse_epoch_log(whole, "log").epochs.size() == 1);
  const std::string loss = "2026-01-05 10:01:14,000 - root - INFO -   Avg val loss=0.25";  // of 0.258 perhaps
  CHECK_FALSE(parse_epoch_log(whole + loss, "log").epochs.front().valid_loss.has_value());
  CHECK(parse_epoch_log(whole + loss, "log").left_out.count("line") == 1);
  CHECK(parse_epoch_log(whole + loss + "\n", "log").epochs.front().valid_loss == 0.25);
}

TEST_CASE("a log of endless epochs is refused") {
  std::string text = kStart;
  for (int epoch = 1; epoch <= 100'001; ++epoch)
    text += epoch_line(std::to_string(epoch) + " is 1 sec, avg 1 samples/sec");
  const std::string error = error_of([&] { parse_epoch_log(text, "big.log"); });
  CHECK_THAT(error, says("more than 100,000 epochs"));
  CHECK_THAT(error, says("big.log"));
}

TEST_CASE("what is no file of text is refused") {
  const TempFolder folder;
  CHECK_THAT(error_of([&] { read_epoch_log(folder.path()); }), says(folder.path().string()));
  CHECK_THAT(error_of([&] { read_epoch_log(folder / "none.log"); }), says("none.log"));
  write_file_whole(folder / "huge.log", std::string_view("x"));
  std::filesystem::resize_file(folder / "huge.log", (64U << 20) + 1);
  CHECK_THAT(error_of([&] { read_epoch_log(folder / "huge.log"); }), says("huge.log"));
}

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

TEST_CASE("each hostile table of Lightning's logger is refused with its line") {
  check_hostile_files("metrics_csv", kMetrics, [](const auto& file) { read_metrics_csv(file); });
}

TEST_CASE("a log of the tutorial is read whatever else lies in it") {
  std::size_t seen = 0;
  for (const PackedFile& file : read_pack("tests/fuzz/corpus/epoch_log.tar")) {
    INFO(file.name);
    const EpochLog log = parse_epoch_log(file.bytes, file.name);
    if (file.name == "odd-epochs" || file.name == "odd-rates" || file.name == "odd-separators" ||
        file.name == "no-text")
      CHECK(log.epochs.empty());
    if (file.name == "half-a-line") CHECK(log.epochs.size() == 1);
    if (file.name == "many-settings") CHECK(log.settings.size() == 500);
    ++seen;
  }
  CHECK(seen >= 15);
}
