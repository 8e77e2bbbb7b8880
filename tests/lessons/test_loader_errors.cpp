// Lessons 02 and 03 with settings that cannot be, and with data that break under their threads.
#include <fstream>
#include <limits>
#include <thread>

#include "lessons/loader_lessons.h"
#include "lessons/refused.h"
#include "support/catch.h"
#include "support/until.h"

namespace isobar::test_loader_errors {

namespace {

/// Trains on a copy of the data until `change` is made to a year file, once the first steps are there.
ProcessResult train_until(const LoaderLesson& lesson, const std::function<void(const fs::path&)>& change) {
  const TempFolder folder;
  const std::string& root = coarse().back();
  fs::copy(root.substr(root.find('=') + 1), folder / "data", fs::copy_options::recursive);
  std::jthread changer([&] {
    until(when_steps(folder / "run", 2));
    change(folder / "data/train/2001.h5");
  });
  const ProcessResult result = lesson.train(
      folder / "run",
      with(coarse(), {"data.root=" + (folder / "data").string(), "train.steps=1000000", "run.flush_ms=1"}));
  CHECK(stream(folder / "run").back()["status"] == "failed");
  return result;
}

void poison(const fs::path& file) {
  const float value = std::numeric_limits<float>::quiet_NaN();
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(-4 * 24 * 48 * 20 * 6,
            std::ios::end);  // contiguous: the first value of the sixth record from last
  out.write(reinterpret_cast<const char*>(&value), 4);
}

}  // namespace

TEST_CASE("numbers of threads, batches and slots that cannot be are refused with exit code 2") {
  CHECK_THAT(refusal("02_workers", {"data.workers=-1"}), says("data.workers") && says("-1"));
  CHECK_THAT(refusal("02_workers", {"data.workers=100000"}), says("data.workers") && says("1024"));
  CHECK_THAT(refusal("02_workers", {"data.workers=1.5"}), says("data.workers"));
  CHECK_THAT(refusal("02_workers", {"data.workers=two"}), says("data.workers"));
  CHECK_THAT(refusal("02_workers", {"data.prefetch=0"}), says("data.prefetch"));
  CHECK_THAT(refusal("03_gpu_loader", {"data.workers=0"}),
             says("at least one thread") && says("data.workers = 0") && says("lesson 02"));
  CHECK_THAT(refusal("03_gpu_loader", {"loader.slots=0"}), says("loader.slots"));
  for (const char* lesson : {"02_workers", "03_gpu_loader"}) {
    CHECK_THAT(refusal(lesson, {"data.cpu_affinity=all of them"}), says("data.cpu_affinity"));
    CHECK_THAT(refusal(lesson, {"data.cpu_affinity=\"1023\""}), says("processor 1023"));
  }
  CHECK_THAT(refusal("02_workers", {"data.cpu_affinity=x", "data.workers=0"}), says("data.cpu_affinity"));
}

TEST_CASE("a ring larger than memory is refused with both numbers, and no data set is needed for that") {
  const std::vector<std::string> sizes = {"data.source=synthetic", "data.grid=[360, 720]", "model.patch=8",
                                          "train.global_batch=16"};
  CHECK_THAT(refusal("03_gpu_loader", with(sizes, {"loader.slots=1024"})),
             says("1024 batches of 664 MB") && says("take 679 GB") && says(" are free") &&
                 says("loader.slots = 1024"));
  CHECK_THAT(refusal("02_workers", with(sizes, {"data.workers=1000", "data.prefetch=8"})),
             says("8001 batches of 664 MB") && says(" are free") && says("data.workers = 1000"));
}

TEST_CASE("what belongs to another lesson, or to another device, is refused by name") {
  CHECK_THAT(refusal("01_baseline", {"loader.kind=workers"}),
             says("does not have loader.kind = workers") && says("02_workers"));
  CHECK_THAT(refusal("02_workers", {"run.fault=no_event"}),
             says("does not have run.fault = no_event") && says("03_gpu_loader"));
  CHECK_THAT(refusal("02_workers", {"loader.slots=2"}), says("loader.slots") && says("03_gpu_loader"));
  for (const char* fault : {"pageable", "default_stream_copy", "no_event", "host_normalise"}) {
    CHECK_THAT(refusal("03_gpu_loader", {std::string("run.fault=") + fault, "run.device=cpu"}),
               says(fault) && says("CUDA device") && says("on cpu") && says("another fault"));
  }
}

TEST_CASE("a year file cut, replaced or removed under reading threads ends the run, with file and sample") {
  const std::vector<std::function<void(const fs::path&)>> changes = {
      [](const fs::path& file) { fs::resize_file(file, 100'000); },
      [](const fs::path& file) {
        fs::copy_file(file, file.string() + ".new");
        fs::rename(file.string() + ".new", file);
      },
      [](const fs::path& file) { fs::remove(file); }};
  for (const LoaderLesson& lesson : kLoaderLessons) {
    for (const auto& change : changes) {
      const ProcessResult result = train_until(lesson, change);
      INFO(result.err);
      CHECK(result.code == 1);
      CHECK_THAT(result.err, says("sample ") && says("record ") && says("train/2001.h5"));
    }
  }
}

TEST_CASE("a value that is no number is named by the thread that reads it") {
  for (const LoaderLesson& lesson : kLoaderLessons) {
    const ProcessResult result = train_until(lesson, poison);
    INFO(result.err);
    CHECK(result.code == 1);
    CHECK_THAT(result.err, says("sample ") && says("not a finite number") && says("record ") &&
                               says("channel 0 (u10m), row ") && says(", column ") && says("train/2001.h5"));
  }
}

}  // namespace isobar::test_loader_errors
