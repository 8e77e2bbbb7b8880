#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <random>

#include "core/clock.h"
#include "core/files.h"
#include "fault/made_up.h"
#include "fields/checkpoint_folder.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace fs = std::filesystem;

namespace {

fs::path save(const fs::path& parent, std::int64_t step) {
  CheckpointWriter writer(parent, step);
  write_made_up(writer, step);
  return writer.finish();
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// One bit of a file, in place.
void flip(const fs::path& file, std::uint64_t bit) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(bit / 8));
  const auto byte = static_cast<char>(stream.get() ^ (1 << (bit % 8)));
  stream.seekp(static_cast<std::streamoff>(bit / 8));
  stream.put(byte);
}

/// Flips one bit after the other, places drawn, and looks whether each is found and what a search takes then.
void check_flips(int flips) {
  const TempFolder folder;
  save(folder / "c", 10);
  const fs::path newest = save(folder / "c", 20);
  const std::vector<fs::path> files = files_of(newest);
  REQUIRE(files.size() == 4);
  std::mt19937_64 random(20261121);
  int found = 0;
  for (int i = 0; i < flips; ++i) {
    const fs::path& file = files[random() % files.size()];
    const std::uint64_t bit = random() % (fs::file_size(file) * 8);
    flip(file, bit);
    try {
      verify_checkpoint(newest);
      WARN("not found: bit " << bit << " of " << file);
    } catch (const Error& error) {
      // A flip within the manifest can be told from one in the file it speaks of only by the name of the
      // latter.
      const bool named = error.where().find(file.filename().string()) != std::string::npos;
      found += named || file.filename() == "manifest.json" ? 1 : 0;
    }
    flip(file, bit);
  }
  CHECK(found == flips);
  CHECK(verify_checkpoint(newest).step == 20);
  flip(files[1], 77);
  const CheckpointSearch search = find_checkpoint(folder / "c");
  REQUIRE(search.newest);
  CHECK(search.newest->step == 10);
  REQUIRE(search.passed_over.size() == 1);
  CHECK_THAT(search.passed_over[0],
             says("step-000020") && says("checksum") && says(files[1].filename().string()));
}

}  // namespace

TEST_CASE("a checkpoint comes back as it was saved, and the manifest says what is in it") {
  const TempFolder folder;
  const fs::path saved = save(folder / "checkpoints", 20);
  CHECK(saved == folder / "checkpoints/step-000020");
  const Checkpoint checkpoint = verify_checkpoint(saved);
  CHECK(checkpoint.step == 20);
  CHECK(checkpoint.files.size() == 3);
  CHECK(checkpoint.files.at("state.toml").bytes == 10);
  CHECK(files_of(folder / "checkpoints").size() == 1);
  struct stat status {};
  REQUIRE(stat((saved / "model.safetensors").c_str(), &status) == 0);
  const mode_t mask = umask(0);
  umask(mask);
  CHECK((status.st_mode & 0777) == (0666 & ~mask));
}

TEST_CASE("every flipped bit of a checkpoint is found, and the one before it is taken") {
  check_flips(1'000);
}

TEST_CASE("ten thousand flipped bits of a checkpoint are found", "[.nightly]") { check_flips(10'000); }

TEST_CASE("a file that is cut, missing, or of another step is refused by name") {
  const TempFolder folder;
  const fs::path other = save(folder / "c", 10);
  const fs::path saved = save(folder / "c", 20);
  const auto problem = [&] {
    try {
      verify_checkpoint(saved);
      return std::string("none");
    } catch (const Error& error) {
      CHECK(error.code() == Exit::bad_input);
      return error.text();
    }
  };
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.toml", "manifest.json"}) {
    const std::string whole = read_text_file(saved / name, 1 << 20);
    write_file_whole(saved / name, std::string_view(whole).substr(0, whole.size() - 1));
    CHECK_THAT(problem(), says(name));
    fs::remove(saved / name);
    CHECK_THAT(problem(), says(name));
    write_file_whole(saved / name, read_text_file(other / name, 1 << 20));
    CHECK_THAT(problem(), says(name));
    write_file_whole(saved / name, whole);
    CHECK(problem() == "none");
  }
  write_file_whole(saved / "manifest.json",
                   std::string_view("{\"schema\": 1, \"files\": {\"../../x\": {}}}"));
  CHECK_THAT(problem(), says("manifest.json"));
  write_file_whole(saved / "manifest.json", std::string(2'000'000, '['));
  CHECK_THAT(problem(), says("manifest.json"));
  fs::rename(other, folder / "c/step-000030");  // a folder under another name
  CHECK(find_checkpoint(folder / "c").newest.has_value() == false);
}

TEST_CASE("a file that another process wrote counts as part of it, and is named when it is missing") {
  const TempFolder folder;
  const std::vector<std::byte> bytes(16);
  const TensorToWrite tensor{"w[0:4]", "F32", {4}, bytes};
  CheckpointWriter writer(folder / "c", 7);
  const std::string name = "states-0002-of-0002.safetensors";
  writer.add(name, write_checkpoint_tensors(writer.aside() / name, {&tensor, 1}));
  const fs::path saved = writer.finish();
  CHECK(verify_checkpoint(saved).files.count(name) == 1);
  fs::resize_file(saved / name, fs::file_size(saved / name) - 1);
  CHECK_THAT(error_of([&] { verify_checkpoint(saved); }), says(name) && says("bytes"));
  fs::remove(saved / name);
  CHECK_THAT(error_of([&] { verify_checkpoint(saved); }), says(name) && says("is missing"));
  CHECK_FALSE(find_checkpoint(folder / "c").newest);
}

TEST_CASE("old checkpoints go when the next is there, and what somebody else put there stays") {
  const TempFolder folder;
  for (const std::int64_t step : {10, 20, 30, 40}) save(folder / "c", step);
  write_file_whole(folder / "c/step-000010/notes.txt", std::string_view("mine"));
  fs::create_directory(folder / "c/step-12");
  write_file_whole(folder / "c/.hidden", std::string_view("mine"));
  remove_old_checkpoints(folder / "c", 2, 40);
  CHECK(list_checkpoints(folder / "c") ==
        std::vector<fs::path>{folder / "c/step-000010", folder / "c/step-000030", folder / "c/step-000040"});
  CHECK(fs::exists(folder / "c/step-000010/notes.txt"));
  CHECK(fs::exists(folder / "c/step-000010/model.safetensors"));
  CHECK(fs::exists(folder / "c/step-12"));
  CHECK(fs::exists(folder / "c/.hidden"));
  CHECK_FALSE(find_checkpoint(folder / "nowhere").newest);
}

TEST_CASE("what was saved last stays, though damaged checkpoints of later steps are there") {
  const TempFolder folder;
  for (const std::int64_t step : {10, 20, 30}) save(folder / "c", step);
  fs::remove(folder / "c/step-000020/model.safetensors");
  fs::remove(folder / "c/step-000030/model.safetensors");
  save(folder / "c", 15);  // a run that went on from step 10
  remove_old_checkpoints(folder / "c", 1, 15);
  const CheckpointSearch found = find_checkpoint(folder / "c");
  REQUIRE(found.newest);
  CHECK(found.newest->step == 15);
  CHECK_FALSE(fs::exists(folder / "c/step-000010"));
  for (const std::int64_t step : {20, 30}) {
    save(folder / "c", step);  // it gets there
    remove_old_checkpoints(folder / "c", 1, step);
  }
  CHECK(list_checkpoints(folder / "c") == std::vector<fs::path>{folder / "c/step-000030"});
  CHECK(find_checkpoint(folder / "c").newest);
}

TEST_CASE("a leftover folder that is a link is not followed") {
  const TempFolder folder;
  fs::create_directories(folder / "precious");
  write_file_whole(folder / "precious/file", std::string_view("kept"));
  fs::create_directory(folder / "c");
  fs::create_directory_symlink(folder / "precious", folder / "c/.aside-step-000001-new-1");
  save(folder / "c", 10);
  CHECK(fs::exists(folder / "precious/file"));
}

TEST_CASE("a large checkpoint is verified at the speed of memory, not of a table") {
  const TempFolder folder;
  const std::vector<float> values(8'000'000, 1.5F);
  const TensorToWrite tensor{"w", "F32", {8'000'000}, std::as_bytes(std::span(values))};
  CheckpointWriter writer(folder / "c", 1);
  writer.write_tensors("model.safetensors", {&tensor, 1});
  const fs::path saved = writer.finish();
  const std::int64_t begin_us = steady_us();
  CHECK(verify_checkpoint(saved).files.size() == 1);
  WARN("verified at " << 32e6 / static_cast<double>(std::max<std::int64_t>(1, steady_us() - begin_us))
                      << " MB/s");
}
