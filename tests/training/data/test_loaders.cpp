// All loaders give the same batches, bit for bit.
#include <cstring>

#include "core/memory.h"
#include "data/loader_world.h"
#include "fields/foreign_files.h"
#include "support/catch.h"
#include "support/deadline.h"
#include "support/errors.h"
#include "support/event_clock.h"

namespace isobar::test_loaders {

using namespace std::chrono_literals;

namespace {

struct Copy {
  explicit Copy(const Batch& batch)
      : input(batch.input.clone()),
        target(batch.target.clone()),
        epoch(batch.epoch),
        ends(batch.ends_epoch) {}
  at::Tensor input;
  at::Tensor target;
  std::int64_t epoch;
  bool ends;
};

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor left = a.contiguous();
  const at::Tensor right = b.contiguous();
  return left.sizes() == right.sizes() &&
         std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
}

bool same(const Copy& wanted, const Batch& got) {
  return same_bits(wanted.input, got.input) && same_bits(wanted.target, got.target) &&
         wanted.epoch == got.epoch && wanted.ends == got.ends_epoch;
}

std::vector<Copy> batches_of(Loader& loader, std::int64_t count) {
  std::vector<Copy> out;
  for (std::int64_t n = 0; n < count; ++n) out.emplace_back(loader.next());
  return out;
}

/// Three epochs, then on from the middle of the second one and of the first.
void check_loader(Loader& loader, const std::vector<Copy>& wanted) {
  const std::int64_t steps = loader.steps_per_epoch();
  std::size_t right = 0;
  for (const Copy& copy : wanted) right += same(copy, loader.next()) ? 1U : 0U;
  CHECK(right == wanted.size());
  for (const std::int64_t from : {steps + steps / 2, steps / 2}) {
    loader.seek(from);
    CHECK(loader.position() == from);
    for (std::int64_t n = from; n < from + steps; ++n)
      CHECK(same(wanted[static_cast<std::size_t>(n)], loader.next()));
  }
  CHECK(loader.position() == steps / 2 + steps);
}

void check_all(LoaderWorld& world) {
  for (const std::int64_t batch : {4, 5}) {  // 24 samples
    const Dataset dataset = world.open();
    const auto plain = world.loader(dataset, {"inline"}, batch);
    const std::vector<Copy> wanted = batches_of(*plain, 3 * plain->steps_per_epoch());
    for (const LoaderChoice& choice : all_loaders()) {
      INFO(choice.kind << " " << choice.workers << " " << choice.depth << " " << choice.choice);
      const auto loader = world.loader(dataset, choice, batch);
      check_loader(*loader, wanted);
      CHECK(loader->counts().read_bytes > 0);
    }
    const Dataset memory = world.open(DataSource::memory);
    for (const LoaderChoice& choice : {LoaderChoice{"workers"}, LoaderChoice{"ring"}})
      check_loader(*world.loader(memory, choice, batch), wanted);
  }
}

}  // namespace

TEST_CASE("batches are the same bits for every loader: contiguous files") {
  const Deadline deadline("contiguous files", 5min);
  LoaderWorld world;
  check_all(world);
}

TEST_CASE("batches are the same bits for every loader: chunked files") {
  const Deadline deadline("chunked files", 5min);
  LoaderWorld world;
  const Layout layout{.chunk = std::array<std::int64_t, 4>{1, 2, 3, 7}, .shape = {12, 3, 8, 16}};
  for (const std::string& year : world.data.train_years)
    write_foreign(world.folder / ("train/" + year), layout);
  check_all(world);
}

TEST_CASE("batches are the same bits for every loader: compressed files") {
  const Deadline deadline("compressed files", 5min);
  LoaderWorld world;
  const Layout layout{.chunk = std::array<std::int64_t, 4>{2, 3, 4, 16}, .gzip = 4, .shape = {12, 3, 8, 16}};
  for (const std::string& year : world.data.train_years)
    write_foreign(world.folder / ("train/" + year), layout);
  check_all(world);
  const Dataset dataset = world.open();
  CHECK_THAT(world.loader(dataset, {"ring"}, 4)->text(), says("compressed"));
}

TEST_CASE("batches that are held stay as they are while others are read") {
  const Deadline deadline("held batches", 5min);
  LoaderWorld world;
  const Dataset dataset = world.open();
  const auto plain = world.loader(dataset, {"inline"}, 4);
  const std::vector<Copy> wanted = batches_of(*plain, 18);
  for (const LoaderChoice& choice : {LoaderChoice{"workers", 3, 2}, LoaderChoice{"workers", 1, 1, false}}) {
    std::vector<Batch> held;
    {
      const auto loader = world.loader(dataset, choice, 4);
      for (std::size_t n = 0; n < wanted.size(); ++n) held.push_back(loader->next());
    }
    for (std::size_t n = 0; n < wanted.size(); ++n) CHECK(same(wanted[n], held[n]));
  }
  const auto ring = world.loader(dataset, {"ring", 2, 3}, 4);
  const Batch first = ring->next();
  const Batch second = ring->next();
  for (std::size_t n = 2; n < 10; ++n) CHECK(same(wanted[n], ring->next()));
  CHECK(same(wanted[0], first));
  CHECK(same(wanted[1], second));
  const at::Tensor input = first.input;  // one half of it holds the slot
  const auto other = world.loader(dataset, {"ring", 2, 1}, 4);
  at::Tensor target;
  {
    Batch batch = other->next();
    target = batch.target;
  }
  CHECK(same_bits(wanted[0].target, target));
}

TEST_CASE("a loader for validation reads nothing ahead of its first batch, and starts over") {
  const Deadline deadline("validation", 5min);
  EventClock clock(1);
  LoaderWorld world;
  const Dataset dataset = world.open();
  for (const LoaderChoice& choice : all_loaders()) {
    if (choice.workers == 0) continue;
    clock.expect(static_cast<int>(choice.workers));
    const auto loader = world.loader(dataset, choice, 5, Passes::single);
    std::vector<Copy> first;
    std::int64_t read_bytes = 0;
    for (int pass = 0; pass < 3; ++pass) {
      loader->seek(0);
      const std::vector<Copy> batches = batches_of(*loader, loader->steps_per_epoch());
      if (pass == 0) first = batches;
      for (std::size_t n = 0; n < first.size(); ++n) CHECK(same_bits(first[n].input, batches[n].input));
      if (choice.kind == "ring" || choice.choice) clock.until_still();  // else its threads have ended
      const std::int64_t bytes = loader->counts().read_bytes;
      if (pass > 0) CHECK(bytes - read_bytes == (pass == 1 ? read_bytes : bytes / (pass + 1)));
      read_bytes = bytes;
    }
  }
}

TEST_CASE("what loaders count adds up") {
  LoaderWorld world;
  const Dataset dataset = world.open();
  const auto field_bytes = static_cast<std::int64_t>(dataset.shape().values() * sizeof(float));
  const auto plain = world.loader(dataset, {"inline"}, 4);
  for (int n = 0; n < 7; ++n) plain->next();
  CHECK(plain->counts().read_bytes == 7 * 8 * field_bytes);
  CHECK(plain->counts().batches == 7);
  CHECK(plain->counts().slots == 0);
  const auto workers = world.loader(dataset, {"workers", 2, 3}, 4);
  for (int n = 0; n < 7; ++n) workers->next();
  CHECK(workers->counts().batches == 7);
  CHECK(workers->counts().slots == 6);
  CHECK(workers->counts().ready <= 6);
  CHECK(workers->counts().read_bytes >= 7 * 8 * field_bytes);
  const auto ring = world.loader(dataset, {"ring", 2, 3}, 4);
  ring->next();
  CHECK(ring->counts().slots == 3);
}

TEST_CASE("loaders that cannot be are refused with the number") {
  LoaderWorld world;
  const Dataset dataset = world.open();
  CHECK_THAT(error_of([&] {
               world.loader(dataset, {"ring", 0, 3}, 4);
             }),
             says("at least one thread") && says("data.workers = 0"));
  CHECK_THAT(error_of([&] { world.loader(dataset, {"workers", 2, 2}, 25); }), says("batch of 25"));
  CHECK_THAT(error_of([&] {
               world.loader(dataset, {"ring", 2, std::int64_t{1} << 40}, 4);
             }),
             says("1099511627776 batches of") && says("are free") && says("loader.slots = "));
  CHECK_THAT(error_of([&] {
               world.loader(dataset, {"workers", std::int64_t{1} << 20, 1 << 20}, 4);
             }),
             says("are free") && says("data.workers = 1048576 and data.prefetch = 1048576"));
}

TEST_CASE("loaders do not count on memory that another one was promised and has not taken yet") {
  LoaderWorld world;
  const Dataset dataset = world.open();
  const auto slot_bytes = static_cast<std::int64_t>(2 * 4 * dataset.shape().values() * sizeof(float));
  const auto free_bytes = static_cast<std::int64_t>(memory_state().available_bytes);
  const LoaderChoice most = {"ring", 2, free_bytes * 6 / 10 / slot_bytes};
  {
    const auto training = world.loader(dataset, most, 4);
    CHECK(promised_bytes() > 0);
    CHECK_THAT(error_of([&] { world.loader(dataset, most, 4, Passes::single); }),
               says("are free") && says("for training and loaders before it"));
    const std::uint64_t before = promised_bytes();
    training->next();  // at least one slot is made
    CHECK(promised_bytes() <= before - static_cast<std::uint64_t>(slot_bytes));
  }
  CHECK(promised_bytes() == 0);
  CHECK_NOTHROW(world.loader(dataset, most, 4, Passes::single));
}

}  // namespace isobar::test_loaders
