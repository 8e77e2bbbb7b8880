// Files that are cut, replaced, removed or poisoned while threads read them: an error that names file and
// sample, and never a wait without end.
#include <atomic>
#include <fstream>
#include <limits>

#include "core/files.h"
#include "data/loader_world.h"
#include "support/catch.h"
#include "support/deadline.h"
#include "support/errors.h"
#include "support/set_clock.h"

using namespace isobar;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

namespace {

struct Damage {
  const char* name;
  std::function<void(const fs::path& file)> change;
  const char* said;
};

std::vector<Damage> damages() {
  return {{"cut", [](const fs::path& file) { fs::resize_file(file, 6000); }, "the file has 6000 bytes"},
          {"removed", [](const fs::path& file) { fs::remove(file); }, "was removed"},
          {"replaced",
           [](const fs::path& file) {
             fs::copy_file(file, file.string() + ".new");
             fs::rename(file.string() + ".new", file);
           },
           "was "},
          {"emptied", [](const fs::path& file) { fs::resize_file(file, 0); }, "the file has 0 bytes"}};
}

std::vector<LoaderChoice> reading_loaders() {
  return {{"inline"}, {"workers", 1, 2}, {"workers", 4, 2, false}, {"ring", 1, 2}, {"ring", 3, 3}};
}

/// The error that ends reading.
std::string error_while_reading(Loader& loader) {
  return error_of(
      [&] {
        while (true) loader.next();
      },
      Exit::failed);
}

void poison(const fs::path& file, std::int64_t record, std::int64_t channel, std::int64_t row,
            std::int64_t column) {
  const auto begin = fs::file_size(file) - 12 * 3 * 8 * 16 * 4;  // contiguous, and the last thing in the file
  const float value = std::numeric_limits<float>::quiet_NaN();
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(static_cast<std::streamoff>(begin) + (((record * 3 + channel) * 8 + row) * 16 + column) * 4);
  out.write(reinterpret_cast<const char*>(&value), 4);
}

}  // namespace

TEST_CASE(
    "a file that changes while workers read is an error with file and sample: a hundred times, no hang") {
  int errors = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    for (const Damage& damage : damages()) {
      for (const LoaderChoice& choice : reading_loaders()) {
        INFO(damage.name << " under " << choice.kind << " with " << choice.workers);
        const Deadline deadline("a loader whose file is changed", 5min);
        LoaderWorld world;
        const Dataset dataset = world.open();
        const auto loader = world.loader(dataset, choice, 4);
        for (int n = 0; n < repeat; ++n) loader->next();
        std::jthread changes([&] { damage.change(world.folder / "train/2002.h5"); });
        const std::string said = error_while_reading(*loader);
        CHECK_THAT(said, says("sample ") && says(" of batch ") && says("record ") && says("2002.h5") &&
                             says(damage.said));
        ++errors;
      }
    }
  }
  CHECK(errors == 100);
}

TEST_CASE("a value that is not finite is named by file, record, channel, row, column and sample") {
  for (const LoaderChoice& choice : reading_loaders()) {
    const Deadline deadline("a poisoned file", 5min);
    LoaderWorld world;
    poison(world.folder / "train/2001.h5", 5, 2, 6, 9);
    const Dataset dataset = world.open();
    const auto loader = world.loader(dataset, choice, 4);
    CHECK_THAT(error_while_reading(*loader),
               says("sample ") && says("2001.h5") && says("record 5, channel 2") && says("row 6, column 9"));
  }
}

TEST_CASE("after an error a loader stays where it was: mended data go on with the batch that was missed") {
  const Deadline deadline("mended data", 5min);
  for (const LoaderChoice& choice : reading_loaders()) {
    INFO(choice.kind << " " << choice.workers);
    LoaderWorld world;
    const Dataset dataset = world.open();
    const auto plain = world.loader(dataset, {"inline"}, 4);
    std::vector<at::Tensor> wanted;
    for (int n = 0; n < 12; ++n) wanted.push_back(plain->next().target.clone());
    const fs::path file = world.folder / "train/2001.h5";
    const std::string sound = read_text_file(file, 1 << 24);
    const auto loader = world.loader(dataset, choice, 4);
    poison(file, 5, 2, 6, 9);
    std::int64_t good = 0;
    bool right = true;
    const std::string said = error_of(
        [&] {
          for (;; ++good) right &= loader->next().target.equal(wanted[static_cast<std::size_t>(good)]);
        },
        Exit::failed);
    CHECK(right);
    CHECK_THAT(said, says("not a finite number"));
    CHECK(loader->position() == good);
    CHECK_THAT(error_of([&] { loader->next(); }, Exit::failed), says("not a finite number"));
    {
      std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
      out.write(sound.data(), static_cast<std::streamsize>(sound.size()));
    }
    for (std::int64_t n = good; n < 12; ++n) {
      const Batch batch = loader->next();
      CHECK(batch.target.equal(wanted[static_cast<std::size_t>(n)]));
      CHECK(batch.epoch == n / 6);
    }
  }
}

TEST_CASE("loaders on a slow disk end, whatever their threads are at") {
  const Deadline deadline("a slow disk", 5min);
  SetClock clock;
  LoaderWorld world;
  world.throttle_mb_per_s = 1;
  for (const LoaderChoice& choice : reading_loaders()) {
    if (choice.kind == "inline") continue;
    const Dataset dataset = world.open();
    auto loader = world.loader(dataset, choice, 1);  // more to read than lies ready
    std::atomic<bool> came = false;
    std::jthread asks([&] {
      loader->next();
      came = true;
    });
    while (!came) clock.advance_us(10'000);
    asks.join();
    clock.until_waiting(1);  // for what never comes: nobody takes a batch, and the clock stands still
    loader.reset();
  }
}
