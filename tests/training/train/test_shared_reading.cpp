// Ranks that read together: batches, scores and bytes against one that reads alone.
#include "support/catch.h"
#include "support/errors.h"
#include "support/passing_ranks.h"
#include "support/small_data.h"
#include "support/temp_folder.h"
#include "train/shared_reading.h"

namespace isobar::test_shared_reading {

using namespace isobar::testing;

namespace {

/// Twelve rows, which 1, 2, 3 and 4 ranks share.
struct Twelve {
  Twelve() {
    data.rows = 12;
    data.write(folder.path());
  }
  TempFolder folder;
  SmallData data;
};

}  // namespace

TEST_CASE("batches are the same bits for 1, 2, 3 and 4 readers, and each reads 1/g of the bytes") {
  const Twelve files;
  for (const int ranks : {1, 2, 3, 4}) {
    for (const std::string source : {"files", "memory"})
      passes(ranks, {"read together", files.folder.path().string(), source, "1", ""});
  }
}

TEST_CASE("rollouts, made-up fields and the fault read_all are gathered alike") {
  const Twelve files;
  passes(3, {"read together", files.folder.path().string(), "files", "4", ""});
  passes(2, {"read together", files.folder.path().string(), "synthetic", "2", ""});
  passes(2, {"read together", files.folder.path().string(), "files", "1", "read_all"});
}

TEST_CASE("scores of ranks that read together are those of one that reads alone") {
  const Twelve files;
  for (const int ranks : {1, 3}) passes(ranks, {"score together", files.folder.path().string()});
}

TEST_CASE("a rank that has another band than its own is refused") {
  const Twelve files;
  Comm alone;
  DataConfig config = files.data.config();
  const Dataset half(config, files.folder.path(), "train", 0, {1, 2});
  InlineLoader own(half, Sampler(half.size(), true, 1), 4);
  CHECK_THAT(error_of([&] { SharedReading(own, half, alone, c10::kCPU); }, Exit::failed),
             says("6 of 12 rows, from row 6 on") && says("data.read_group"));
}

}  // namespace isobar::test_shared_reading
