// What is read of a log becomes a part of the run, or is counted as left out.
#include <fmt/format.h>

#include "core/files.h"
#include "core/random.h"
#include "imported/find_logs.h"
#include "imported/foreign_run.h"
#include "log/event_files.h"
#include "log/run_series.h"
#include "support/catch.h"
#include "support/event_bytes.h"
#include "support/says.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

TEST_CASE("all values of event files become the run's, or are counted") {
  const TempFolder place;
  const char* const tags[] = {"Loss/train", "Loss/valid",       "Learning Rate", "Avg iters per sec",
                              "other",      "RMSE(u10m)/valid", "odd/tag"};
  for (std::uint64_t round = 0; round < 50; ++round) {
    std::int64_t written = 0, images = 0;
    fs::remove_all(place / "logs");
    fs::create_directories(place / "logs");
    for (std::uint64_t file = 0; file < 3; ++file) {
      std::string bytes;
      for (std::uint64_t i = 0; i < 60; ++i) {
        const std::uint64_t at = 1000 * round + 100 * file + i;
        if (below_at(at, 0, 20) == 0) bytes += tf_start(5);
        const std::string kinds[] = {tf_simple(0.5), tf_tensor(2, tagged(6, 1, raw(0.5))),
                                     tf_tensor(1, bytes_field(5, raw(1.0F) + raw(2.0F)), {2}),
                                     tf_tensor(7, bytes_field(8, "text"), {}, "text"),
                                     bytes_field(4, bytes_field(4, "PNG"))};
        const std::uint64_t kind = below_at(at, 1, 12);
        const std::uint64_t step = below_at(at, 2, 30) == 0 ? 2'000'000'000'000 : i / 3 + below_at(at, 3, 8);
        bytes += tf_event(step, tf_value(tags[below_at(at, 4, std::size(tags))], kinds[kind < 5 ? kind : 0]));
        ++written;
        images += kind == 4 ? 1 : 0;
      }
      write_file_whole(place / "logs" / fmt::format("events.out.tfevents.{}.host", 10 + file),
                       std::string_view(bytes));
    }
    const ForeignRun run = read_log(find_logs(place / "logs").front(), {});
    std::int64_t kept = run.first_loss ? 1 : 0;
    for (const ForeignStep& step : run.steps) kept += 1 + (step.lr ? 1 : 0) + (step.step_s ? 1 : 0);
    for (const ForeignScore& score : run.scores) kept += 1 + std::ssize(score.others);
    INFO(round);
    REQUIRE(kept + run.left_out.count("value") + run.left_out.count("image") == written);
    REQUIRE(run.left_out.count("image") == images);
    EventFiles files;
    RunSeries series;
    while (files.update(place / "logs", [&](const TfScalar& scalar) {
      series.take_scalar(scalar.tag, static_cast<double>(scalar.step), scalar.wall_time_s, scalar.value,
                         scalar.session);
    })) {
    }
    std::int64_t shown = 0;
    for (const std::string& name : series.names())
      shown += static_cast<std::int64_t>(series.find(name).curve->y.size());
    REQUIRE(shown + files.left_out().count() + series.left_out().count() == written);
  }
}

TEST_CASE("all values of a table become the run's, or are counted") {
  const TempFolder place;
  for (std::uint64_t round = 0; round < 100; ++round) {
    std::int64_t written = 0, words = 0;
    std::string text = "epoch,step,train_loss,train_acc,train/acc,lr-Adam,val_loss,val_acc,test_loss\n";
    text += "0,0,1.0,,,,,,\n";
    ++written;
    for (std::uint64_t row = 0; row < 40; ++row) {
      const std::uint64_t at = 100 * round + row;
      text += fmt::format("{},{}", row / 10, below_at(at, 0, 15) == 0 ? 2 : row / 2);
      for (std::uint64_t cell = 0; cell < 7; ++cell) {
        const std::uint64_t kind = below_at(at, 1 + cell, 8);
        text += kind < 2 ? ",0.5" : kind == 2 ? ",word" : ",";
        written += kind < 2 ? 1 : 0;
        words += kind == 2 ? 1 : 0;
      }
      text += "\n";
    }
    text += "3,20,1.0,,,,,,";  // of 1.05 perhaps
    write_file_whole(place / "metrics.csv", std::string_view(text));
    const ForeignRun run = read_lightning_run(place / "metrics.csv", {});
    std::int64_t kept = 0;
    for (const ForeignStep& step : run.steps) kept += (step.loss ? 1 : 0) + std::ssize(step.others);
    for (const ForeignScore& score : run.scores) kept += 1 + std::ssize(score.others);
    INFO(text);
    // A learning rate holds for the steps that follow, so it is counted where none follows alone.
    std::int64_t rates = 0;
    for (std::uint64_t row = 0; row < 40; ++row) rates += below_at(100 * round + row, 4, 8) < 2 ? 1 : 0;
    const std::int64_t lost = written - kept - run.left_out.count("value");
    REQUIRE(lost >= 0);
    REQUIRE(lost <= rates);
    REQUIRE(run.left_out.count("cell") == words);
    REQUIRE(run.left_out.count("line") == 1);
  }
}

TEST_CASE("rows that are not in the epoch that they name are told of") {
  const TempFolder place;
  const auto notes_of = [&](const std::string& rows) {
    write_file_whole(place / "metrics.csv", std::string_view("epoch,step,train_loss,val_loss\n" + rows));
    const ForeignRun run = read_lightning_run(place / "metrics.csv", {.batch = 4});
    std::string out = fmt::format("{} steps an epoch\n", run.steps_per_epoch);
    for (const std::string& note : run.notes) out += note + "\n";
    return out;
  };
  const std::string good = "0,4,1,\n0,9,1,\n0,9,,2\n1,14,1,\n1,19,1,\n1,19,,2\n";
  CHECK_THAT(notes_of(good), says("10 steps an epoch") && !says("rows"));
  CHECK_THAT(notes_of(good + "1,24,1,\n"),
             says("10 steps an epoch") && says("1 of 7 rows are not in the epoch"));
  CHECK_THAT(notes_of(good + "0,24,1,\n"), says("1 row names an earlier epoch than the row before"));
  // Scored twice an epoch: the last score of the first one tells how long it is.
  CHECK_THAT(notes_of("0,4,1,\n0,4,,2\n0,9,1,\n0,9,,2\n1,14,1,\n1,14,,2\n"), says("10 steps an epoch"));
  CHECK_THAT(notes_of("0,9,1,\n0,9,,2\n1,12,1,\n2,15,1,\n3,18,1,\n4,21,1,\n"),
             says("0 steps an epoch") && says("placed by their epochs"));
}
