// Run:   ./isobar run 09_all_reduce, then again with --set comm.algorithm=tree
// Watch: ./isobar gui --panel messages: which chunk is where after each step, and what each rank has sent.
// Next:  06_ddp, whose gradients travel like this.
#include <span>

#include "09_all_reduce/parts/all_reduce_bench.h"  // AllReduceBench, chosen, place_in_ring
#include "09_all_reduce/parts/chunk_comm.h"        // ChunkComm, Then
#include "running/standalone_run.h"                // StandaloneRun, StandaloneStep

using namespace isobar;

/// All send to rank 0, which adds, and sends the sum to all.
static void naive(ChunkComm& comm, const RingPlace&) {
  const int n = comm.size();
  if (comm.rank() > 0) {
    comm.send(comm.rank() - 1, {.to = 0}, Then::add);
    comm.receive(comm.rank() - 1, {.from = 0}, Then::keep);
    return;
  }
  for (int other = 1; other < n; ++other) comm.receive(other - 1, {.from = other}, Then::add);
  for (int other = 1; other < n; ++other) comm.send(other - 1, {.to = other}, Then::keep);
}

/// Pairs, then pairs of pairs, ...: up to rank 0, and the same way down.
static void tree(ChunkComm& comm, const RingPlace&) {
  const int n = comm.size(), r = comm.rank();
  int levels = 0;
  while (1 << levels < n) ++levels;
  for (int k = 0; k < levels; ++k) {
    const int apart = 1 << k;
    if (r % (2 * apart) == apart) comm.send(k, {.to = r - apart}, Then::add);
    if (r % (2 * apart) == 0 && r + apart < n) comm.receive(k, {.from = r + apart}, Then::add);
  }
  for (int k = 0; k < levels; ++k) {
    const int apart = 1 << (levels - 1 - k);
    if (r % (2 * apart) == 0 && r + apart < n) comm.send(k, {.to = r + apart}, Then::keep);
    if (r % (2 * apart) == apart) comm.receive(k, {.from = r - apart}, Then::keep);
  }
}

/// Every rank talks to two neighbours only: n - 1 steps to add, n - 1 to spread, a chunk in each.
static void ring(ChunkComm& comm, const RingPlace& at) {
  const int n = comm.size(), r = at.place;
  for (int k = 0; k < n - 1; ++k)
    comm.exchange(k, {.to = at.right, .chunk = r - k}, {.from = at.left, .chunk = r - k - 1}, Then::add);
  for (int k = 0; k < n - 1; ++k)
    comm.exchange(k, {.to = at.right, .chunk = r + 1 - k}, {.from = at.left, .chunk = r - k}, Then::keep);
}

static void train(StandaloneRun& run) {
  // ---- Configure -----------------------------------------------------------------------------------------
  const CommConfig& config = run.config().comm;
  Messages messages(run.meeting(), link_of_run(run));  // between any two ranks
  const RingPlace place = place_in_ring(run);          // who is left and right of this rank

  // ---- Data ----------------------------------------------------------------------------------------------
  AllReduceBench bench(run, messages);  // buffers whose sums are known, of several sizes in turn

  // ---- Model ---------------------------------------------------------------------------------------------
  const auto all_reduce = chosen(config.algorithm, ring, tree, naive);
  const int chunks = config.algorithm == AllReduceKind::ring ? messages.size() : 1;  // of a buffer

  // ---- Train ---------------------------------------------------------------------------------------------
  run.announce(bench.text());
  while (run.goes_on()) {
    StandaloneStep step = run.begin_step();
    step.enter(Stage::load);
    const std::span<float> values = bench.fill(step.index());
    messages.meet();  // nobody is early

    step.enter(Stage::comm);
    ChunkComm comm(messages, run.spans(), step.index(), values, chunks);
    all_reduce(comm, place);
    step.leave();
    bench.finish(step);  // are the sums right, and how long did the slowest rank take?
  }

  // ---- Report --------------------------------------------------------------------------------------------
  run.say(bench.table());
}

int main(int argc, char** argv) { return run_standalone("09_all_reduce", argc, argv, train); }
