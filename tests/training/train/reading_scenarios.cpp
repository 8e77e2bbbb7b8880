// What each rank does in the tests of shared reading; the tests start these as processes.
#include <ATen/ops/equal.h>

#include "config/with_fault.h"
#include "data/device_prefetch.h"
#include "data/ring_loader.h"
#include "support/made_fault.h"
#include "support/rank_scenarios.h"
#include "support/small_data.h"
#include "support/temp_folder.h"
#include "train/evaluate.h"
#include "train/shared_reading.h"
#include "train/sync_world.h"

namespace isobar::reading_scenarios {

using namespace isobar::testing;

namespace {

using Words = std::vector<std::string>;

void require(bool holds, const std::string& what) {
  if (!holds) throw Error(what, "a scenario of shared reading", "", Exit::failed);
}

/// A rank's own loaders, with all of its band's reading below.
struct Reader {
  Reader(const std::string& root, const std::string& split, const Config& config, Comm& readers,
         std::int64_t leads, Passes passes)
      : band(config.data, root, split, 0, {readers.rank(), readers.size()}, leads),
        sampler(band.size(), passes == Passes::endless, 333),
        ring(band, sampler, config, c10::kCPU, spans, passes),
        prefetch(ring, config.loader),
        loader(prefetch, band, readers, c10::kCPU) {}

  TempFolder folder;
  SpanWriter spans{folder / "spans.jsonl", 200, StreamStart::create, 0, 0, 0};
  Dataset band;
  Sampler sampler;
  RingLoader ring;
  DevicePrefetch prefetch;
  SharedReading loader;
};

Config configured(DataSource source) {
  SmallData data;
  data.rows = 12;
  Config out;
  out.data = data.config();
  out.data.source = source;
  out.data.workers = 2;
  out.train.global_batch = 4;
  return out;
}

bool same(const Batch& one, const Batch& two) {
  return at::equal(one.input, two.input) && at::equal(one.target, two.target) &&
         one.later.defined() == two.later.defined() &&
         (!one.later.defined() || at::equal(one.later, two.later)) && one.samples == two.samples &&
         one.epoch == two.epoch && one.ends_epoch == two.ends_epoch;
}

void check_sent(SharedReading& loader, const Batch& batch, std::int64_t batches, std::int64_t ranks) {
  const SyncFigures sent = loader.take_figures();
  const auto later = batch.later.defined() ? batch.later.nbytes() : 0;
  const auto bytes = static_cast<std::int64_t>(batch.input.nbytes() + batch.target.nbytes() + later);
  require(sent.calls == (ranks > 1 ? batches : 0), "one message a batch");
  require(sent.wire_bytes == batches * bytes * (ranks - 1) / ranks, "bytes of the messages");
  require(sent.read_calls == sent.calls && sent.read_wire_bytes == sent.wire_bytes, "figures of read groups");
  require(loader.take_figures().calls == 0, "figures are taken once");
}

/// folder, source, leads, fault
int read_together(const Words& words) {
  Comm readers = joined(small_buckets("gloo", "buckets"));
  const Config config = configured(named<DataSource>(words[1]));
  const std::int64_t leads = std::stoll(words[2]);
  const bool reads_all = words[3] == "read_all";
  const MadeFault fault({.fault = reads_all ? Fault::read_all : Fault::none});
  Reader reader(words[0], "train", config, readers, leads, Passes::endless);
  const Dataset whole(config.data, words[0], "train", 0, {}, leads);
  InlineLoader plain(whole, reader.sampler, 4);
  InlineLoader own_plain(reader.band, reader.sampler, 4);
  SharedReading inline_reading(own_plain, reader.band, readers, c10::kCPU);
  Batch wanted;
  for (int step = 0; step < 8; ++step) {  // into the second epoch
    wanted = plain.next();
    require(same(reader.loader.next(), wanted), "batch " + std::to_string(step));
    require(same(inline_reading.next(), wanted), "inline batch " + std::to_string(step));
  }
  const bool stays = config.data.source == DataSource::synthetic;
  check_sent(reader.loader, wanted, stays ? 1 : 8, readers.size());
  require(reader.loader.position() == 8 && reader.loader.counts().batches == 8, "position");
  require(inline_reading.counts().read_bytes * (reads_all ? 1 : readers.size()) == plain.counts().read_bytes,
          "bytes that were read");
  for (const std::int64_t position : {13, 2, 5}) {
    reader.loader.seek(position);
    plain.seek(position);
    require(same(reader.loader.next(), plain.next()), "after a seek");
  }
  require((reader.loader.text().find("read together") != std::string::npos) == (readers.size() > 1), "text");
  return 0;
}
const AddScenario read_together_scenario{"read together", read_together};

int score_together(const Words& words) {
  Comm readers = joined(small_buckets("gloo", "buckets"));
  const Config config = configured(DataSource::files);
  Reader reader(words[0], "valid", config, readers, 1, Passes::single);
  const Dataset whole(config.data, words[0], "valid", 0);
  InlineLoader plain(whole, Sampler(whole.size(), false, 0), 4);
  const auto forecast = [](const at::Tensor& image) { return 0.5 * image; };
  const Evaluation wanted = evaluate(forecast, whole, plain, c10::kCPU);
  for (int again = 0; again < 2; ++again) {
    const Evaluation found = evaluate(forecast, reader.band, reader.loader, c10::kCPU);
    require(found.complete && found.loss == wanted.loss && found.samples == wanted.samples, "loss");
    require(at::equal(found.fields, wanted.fields), "maps");
    for (std::size_t c = 0; c < wanted.channels.size(); ++c)
      require(found.channels[c].rmse == wanted.channels[c].rmse, "rmse");
  }
  return 0;
}
const AddScenario score_together_scenario{"score together", score_together};

}  // namespace

}  // namespace isobar::reading_scenarios
