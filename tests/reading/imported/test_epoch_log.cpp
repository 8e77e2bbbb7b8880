#include "core/files.h"
#include "imported/epoch_log.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

EpochLog log_of(const std::string& name) { return read_epoch_log("tests/reading/imported/logs/" + name); }

const std::string kStart = "2026-01-05 10:00:10,000 - root - INFO - Starting Training Loop...\n";

std::string epoch_line(const std::string& words) {
  return "2026-01-05 10:01:14,000 - root - INFO - Time taken for epoch " + words + "\n";
}

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
