// Lesson 08 on a device with streams: its steps, launched and replayed, are those of a processor to the bit,
// and nothing in them leans on an order that nobody asked for.
#include <c10/core/StreamGuard.h>

#include "support/made_fault.h"
#include "train/gradient_hooks.h"
#include "training/streams/checked_device.h"
#include "training/streams/lesson_loop.h"
#include "training/streams/stream_transport.h"

using namespace isobar;
using namespace isobar::host_device;

namespace {

void check_same(const LoopResult& ours, const LoopResult& of_cpu) {
  CHECK(ours.losses == of_cpu.losses);
  CHECK(ours.norms == of_cpu.norms);
  CHECK(ours.weights.equal(of_cpu.weights));
  REQUIRE(ours.buffers.size() == of_cpu.buffers.size());
  for (std::size_t i = 0; i < ours.buffers.size(); ++i) CHECK(ours.buffers[i].equal(of_cpu.buffers[i]));
}

LoopResult on_cpu(LessonLoop& loop) {
  const bool records = std::exchange(loop.config.graph.enabled, false);
  LoopResult out = loop.train(c10::kCPU);
  loop.config.graph.enabled = records;
  return out;
}

}  // namespace

TEST_CASE("steps that are launched and replayed on streams are those of a processor, to the bit") {
  LessonLoop loop;
  const LoopResult of_cpu = on_cpu(loop);
  for (const GraphScope scope : {GraphScope::step, GraphScope::model}) {
    loop.config.graph.scope = scope;
    check_right(
        [&] {
          const LoopResult ours = loop.train(kHostDevice);
          CHECK(ours.replays == loop.steps - 3);
          check_same(ours, of_cpu);
        },
        3);
  }
}

TEST_CASE("race: kernels that use a batch do not wait for its arrival (fault no_stream_wait)") {
  const MadeFault made({.fault = Fault::no_event});
  LessonLoop loop;
  check_found("race", [&] { loop.train(kHostDevice); });
}

TEST_CASE("host read: the host takes the loss while the step is recorded (fault item_in_capture)") {
  const MadeFault made({.fault = Fault::item_in_capture});
  LessonLoop loop;
  check_wrong(
      "host read", [&] { loop.train(kHostDevice); }, 3);
}

namespace {

/// The loop with a second rank, which is made up.
struct LoopOfTwo : LessonLoop {
  explicit LoopOfTwo(const StreamMistakes& mistakes = {}) {
    config.comm.bucket_mb = config.comm.first_bucket_mb = 0.01;
    make_comm = [mistakes] {
      auto comm = std::make_unique<Comm>();
      join_made_up_rank(*comm, mistakes);
      return comm;
    };
  }
};

}  // namespace

TEST_CASE("buckets that travel on a stream of their own give the gradients of a processor, recorded too") {
  LoopOfTwo loop;
  const LoopResult of_cpu = on_cpu(loop);
  LessonLoop alone;
  CHECK_FALSE(of_cpu.weights.equal(on_cpu(alone).weights));
  for (const bool recorded : {false, true}) {
    loop.config.graph.enabled = recorded;
    check_right([&] { check_same(loop.train(kHostDevice), of_cpu); }, 3);
  }
}

TEST_CASE(
    "norms over the batch, and gradients that are copied into buckets, give what a processor gives, recorded "
    "too") {
  LoopOfTwo loop;
  loop.shape.batch_norm = true;
  loop.shape.buffers_mb = 0.001;
  loop.config.comm.bucket_view = false;
  loop.config.comm.broadcast_buffers = true;
  for (const BucketOrder order : {BucketOrder::ready, BucketOrder::reverse}) {
    loop.config.comm.bucket_order = order;
    const LoopResult of_cpu = on_cpu(loop);
    REQUIRE(of_cpu.buffers.size() == 2 * 5 + 4);
    CHECK_FALSE(of_cpu.buffers.front().eq(0).all().item<bool>());
    for (const bool recorded : {false, true}) {
      loop.config.graph.enabled = recorded;
      check_right([&] { check_same(loop.train(kHostDevice), of_cpu); }, 2);
    }
  }
}

TEST_CASE("capture: hooks of gradients belong to another stream than the recording's") {
  LoopOfTwo loop;
  loop.hooks_on_stream = false;
  check_wrong(
      "capture", [&] { loop.train(kHostDevice); }, 3);
}

TEST_CASE("race: buckets leave before their gradients are there, or are used before they came back") {
  for (const StreamMistakes& mistakes :
       {StreamMistakes{.starts_at_once = true}, StreamMistakes{.never_waits = true}}) {
    LoopOfTwo loop(mistakes);
    loop.config.graph.enabled = false;
    // Both ranks are threads of this process: which of them is where when a bucket leaves, no seed says.
    check_found(
        "race", [&] { loop.train(kHostDevice); }, 10);
  }
}

TEST_CASE(
    "layers that are split over ranks give what a processor gives, with shared tokens and recorded too") {
  for (const bool shares_tokens : {false, true}) {
    LoopOfTwo loop;
    loop.config.mesh.tp = loop.config.run.ranks = 2;
    loop.config.mesh.sequence_parallel = shares_tokens;
    const LoopResult of_cpu = on_cpu(loop);
    for (const bool recorded : {false, true}) {
      loop.config.graph.enabled = recorded;
      INFO("shares tokens " << shares_tokens << ", recorded " << recorded);
      check_right([&] { check_same(loop.train(kHostDevice), of_cpu); }, 2);
    }
  }
  LoopOfTwo wrong({.never_waits = true});
  wrong.config.mesh.tp = wrong.config.run.ranks = 2;
  wrong.config.graph.enabled = false;
  check_wrong(
      "race", [&] { wrong.train(kHostDevice); }, 2);
}

TEST_CASE(
    "a step that is recorded before its buckets are cut is refused, and nothing is written to old places") {
  LoopOfTwo loop;
  loop.config.graph.warmup = 0;
  const std::string out = wrong_in(1, [&] { loop.train(kHostDevice); });
  CHECK(out.find("thrown: parameters were laid out anew after the step was recorded") == 0);
}
