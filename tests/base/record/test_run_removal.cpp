// Removing a run takes what a run wrote and nothing else.
#include "core/files.h"
#include "record/run_removal.h"
#include "support/catch.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& file) {
  fs::create_directories(file.parent_path());
  write_file_whole(file, std::string_view("x"));
}

constexpr const char* kOwn[] = {"run.toml",
                                "attempt-0002.toml",
                                "rank-0000.jsonl",
                                "rank-0012.spans.jsonl",
                                "rank-0000.status",
                                "console.log",
                                "note.txt",
                                "owner",
                                "owner.claim",
                                ".clock-a-host-4711",
                                "weights.safetensors",
                                "job.toml",
                                "job.sbatch",
                                "job-4711.log",
                                "tb/events.out.tfevents.1795425504.vm.3739",
                                "fields/step-000128.npy",
                                "fields/step-000128.npy.part-12",
                                "run.toml.part-4711",
                                "checkpoints/step-000020/manifest.json",
                                "checkpoints/step-000020/model.safetensors",
                                "checkpoints/.aside-step-000020-new-4711/state.toml"};
constexpr const char* kForeign[] = {"notes.txt",
                                    "run.toml.bak",
                                    "run.toml.part-mine",
                                    "rank-0000 copy.jsonl",
                                    "rank-.jsonl",
                                    "fields/step-000128.png",
                                    "fields/a/step-000128.npy",
                                    "tb/thesis",
                                    "checkpoints/best.safetensors",
                                    "checkpoints/step-000020/mine.safetensors",
                                    "checkpoints/.aside-mine/state.toml",
                                    "plots/loss.svg",
                                    "weights.safetensors/run.toml"};

}  // namespace

TEST_CASE("files of a run are told from others by their whole path") {
  for (const char* const file : kOwn) {
    INFO(file);
    CHECK(is_file_of_run(file));
  }
  for (const char* const file : kForeign) {
    INFO(file);
    CHECK_FALSE(is_file_of_run(file));
  }
}

TEST_CASE("a run that holds only its own goes whole, and one with notes of its user leaves them") {
  const TempFolder folder;
  for (const char* const file : kOwn) put(folder / ("one/" + std::string(file)));
  CHECK(foreign_in_run(folder / "one").empty());
  remove_run(folder / "one");
  CHECK_FALSE(fs::exists(folder / "one"));
  const fs::path run = folder / "two";
  for (const char* const file : kOwn) put(run / file);
  put(run / "plots/loss.svg");
  put(run / "checkpoints/step-000020/mine.safetensors");
  put(folder / "elsewhere/run.toml");
  fs::create_directory_symlink(folder / "elsewhere", run / "fields/more");
  fs::create_symlink(folder / "elsewhere/run.toml", run / "rank-0001.jsonl");  // a name of ours, and a link
  const std::vector<fs::path> foreign = foreign_in_run(run);
  CHECK(foreign == std::vector<fs::path>{"checkpoints/step-000020/mine.safetensors", "fields/more",
                                         "plots/loss.svg", "rank-0001.jsonl"});
  remove_run(run);
  CHECK(foreign_in_run(run) == foreign);
  CHECK_FALSE(fs::exists(run / "run.toml"));
  CHECK_FALSE(fs::exists(run / "tb"));
  CHECK(fs::exists(folder / "elsewhere/run.toml"));
}

TEST_CASE("what a killed process left half written goes by itself") {
  const TempFolder folder;
  for (const char* const file : kOwn) put(folder / file);
  put(folder / "thesis.tex.part-7");
  remove_parts(folder.path());
  for (const char* const file : kOwn) {
    INFO(file);
    CHECK(fs::exists(folder / file) == (std::string(file).find(".part-") == std::string::npos));
  }
  CHECK(fs::exists(folder / "thesis.tex.part-7"));
}

TEST_CASE("of a link to a run only the link goes") {
  const TempFolder folder;
  put(folder / "one/run.toml");
  fs::create_directory_symlink(folder / "one", folder / "link");
  CHECK(foreign_in_run(folder / "link").empty());
  remove_run(folder / "link");
  CHECK_FALSE(fs::exists(fs::symlink_status(folder / "link")));
  CHECK(fs::exists(folder / "one/run.toml"));
}
