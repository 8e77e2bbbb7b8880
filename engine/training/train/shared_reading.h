#pragma once
// Read groups: g ranks of a model, which needs the same samples on all of them, read a band of latitudes of
// every field each and gather the rest, instead of reading all of it g times.
#include <string>

#include "comm/comm.h"
#include "data/loader.h"
#include "train/sync_figures.h"

namespace isobar {

class SharedReading : public Loader {
 public:
  /// `own` hands out batches of `band`, the rows that this rank reads (Dataset with a LatitudeBand), alike in
  /// all else on the ranks of `readers` (run.group("read"), in the order of their bands), which all ask for
  /// each batch. All three outlive this. Batches come on `device`, whole: [B, C, H, W]. In a group of one
  /// they are those of `own`, and nothing is sent. A batch is one all-gather, in which each rank sends
  /// (g - 1)/g of its float32 bytes, 4 (1 + R) B C H W. Bytes of two batches are held while one is joined,
  /// and of one behind that. Error (exit code 1): another band than that of this rank.
  SharedReading(Loader& own, const Dataset& band, Comm& readers, c10::Device device);

  std::string text() const override;

  /// What was sent for the batches since the last call: read_calls, read_wire_bytes, and the sums with them.
  SyncFigures take_figures();

 private:
  Batch load(std::int64_t position) override;
  void move(std::int64_t position) override;
  LoaderCounts reading_counts() const override;
  /// All ranks' bands, one behind the other: [1 + R, B, C, H / g, W] -> [g, 1 + R, B, C, H / g, W].
  at::Tensor gathered(const at::Tensor& band);

  Loader& own_;
  Comm& readers_;
  c10::Device device_;
  SyncFigures figures_;
};

}  // namespace isobar
