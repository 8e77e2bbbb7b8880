#include "imported/epoch_log.h"
#include "imported/metrics_csv.h"
#include "support/catch.h"
#include "support/hostile.h"

using namespace isobar;

namespace {

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
