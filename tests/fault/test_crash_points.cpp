// A save that is killed at any file operation, or whose file operations fail, loses nothing that was
// complete.
#include <cerrno>
#include <map>
#include <sstream>

#include "core/files.h"
#include "fault/made_up.h"
#include "fields/checkpoint_folder.h"
#include "support/catch.h"
#include "support/process.h"
#include "support/says.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace fs = std::filesystem;

namespace {

ProcessResult save(const fs::path& parent, int keep, const std::vector<std::string>& steps,
                   const std::vector<std::string>& plan = {}) {
  std::vector<std::string> words = {ISOBAR_SAVE, parent.string(), std::to_string(keep)};
  words.insert(words.end(), steps.begin(), steps.end());
  std::vector<std::string> environment = {std::string("LD_PRELOAD=") + ISOBAR_SHIM,
                                          "SHIM_UNDER=" + parent.string()};
  environment.insert(environment.end(), plan.begin(), plan.end());
  return run_process(words, {.environment = environment});
}

struct Call {
  std::string name, path;
};

std::vector<Call> calls_in(const fs::path& log) {
  std::istringstream text(read_text_file(log, 1 << 20));
  std::vector<Call> out;
  long number = 0;
  for (Call call; text >> number >> call.name >> call.path;) out.push_back(call);
  return out;
}

/// What a checkpoint holds must be what its step says.
void check_content(const Checkpoint& checkpoint) {
  const SafetensorsFile file = open_safetensors(checkpoint.path / "model.safetensors");
  std::vector<float> values(600);
  read_tensor(file, file.tensors.at(0), std::as_writable_bytes(std::span(values)));
  CHECK(values == made_up_values(checkpoint.step, 600));
  CHECK(read_text_file(checkpoint.path / "state.toml", 1000) == made_up_state(checkpoint.step));
}

void copy_folder(const fs::path& from, const fs::path& to) {
  fs::copy(from, to, fs::copy_options::recursive);
}

std::size_t leftovers(const fs::path& parent) {
  std::size_t count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent))
    count += entry.path().filename().string().front() == '.' ? 1U : 0U;
  return count;
}

}  // namespace

TEST_CASE("killed at every file operation of a save, the newest complete checkpoint loads") {
  const TempFolder folder;
  const int keep = GENERATE(1, 2);
  const bool replaces = GENERATE(false, true);  // step 20 is there already, damaged
  REQUIRE(save(folder / "before", 5, {"10", "20"}).code == 0);
  if (replaces) write_file_whole(folder / "before/step-000020/state.toml", std::string_view("gone"));
  const std::string next = replaces ? "20" : "30";
  const std::int64_t old_step = replaces ? 10 : 20;
  copy_folder(folder / "before", folder / "counted");
  REQUIRE(save(folder / "counted", keep, {next}, {"SHIM_LOG=" + (folder / "log").string()}).code == 0);
  const std::size_t count = calls_in(folder / "log").size();
  REQUIRE(count > 15);
  std::size_t new_ones = 0;
  for (std::size_t at = 1; at <= count; ++at) {
    INFO("killed at call " << at << " of " << count);
    const fs::path parent = folder / std::to_string(at);
    copy_folder(folder / "before", parent);
    CHECK(save(parent, keep, {next}, {"SHIM_KILL_AT=" + std::to_string(at)}).code == 137);
    const CheckpointSearch found = find_checkpoint(parent);
    REQUIRE(found.newest);
    CHECK((found.newest->step == old_step || found.newest->step == std::stoll(next)));
    new_ones += found.newest->step == old_step ? 0U : 1U;
    check_content(*found.newest);
    for (const std::string& sentence : found.passed_over)
      CHECK_THAT(sentence, says("half written") || says("step-000020"));
    CHECK(found.passed_over.size() == leftovers(parent) + (replaces && found.newest->step == 10 ? 1U : 0U));
    REQUIRE(save(parent, keep, {next, "40"}).code == 0);  // the next save works and clears up
    CHECK(leftovers(parent) == 0);
    CHECK(find_checkpoint(parent).newest->step == 40);
    fs::remove_all(parent);
  }
  CHECK(new_ones > 0);
  CHECK(new_ones < count);
  WARN("crash points tried and survived: " << count);
}

TEST_CASE("every file is durable before it takes its name, the folder after it, and the manifest is last") {
  const TempFolder folder;
  REQUIRE(save(folder / "c", 1, {"10", "20"}, {"SHIM_LOG=" + (folder / "log").string()}).code == 0);
  std::map<std::string, bool> durable;
  bool parent_pending = false;
  std::size_t renames = 0;
  std::string last_file;
  const auto is_new = [](const std::string& path) { return path.find("-new-") != std::string::npos; };
  for (const auto& [name, path] : calls_in(folder / "log")) {
    INFO(name << " " << path);
    if (name == "write") durable[path] = false;
    if (name == "fsync") durable[path] = true;
    if (name == "fsync" && path == (folder / "c").string()) parent_pending = false;
    if (name == "unlink" || name == "rmdir") CHECK_FALSE(parent_pending);  // nothing old goes before
    if (name != "rename" || !is_new(path)) continue;
    ++renames;
    if (path.find(".part-") != std::string::npos) {
      CHECK(durable[path]);
      last_file = path;
      continue;
    }
    CHECK_THAT(last_file, says("manifest.json"));  // then the whole folder takes its name
    CHECK(durable[path]);
    parent_pending = true;
  }
  CHECK_FALSE(parent_pending);
  CHECK(renames == 10);  // four files and the folder, twice
}

TEST_CASE("a file operation that fails is an error with the file's name, and never a saved checkpoint") {
  const TempFolder folder;
  struct Fault {
    const char* call;
    int error;
    const char* word;
  };
  const std::vector<Fault> faults = {{"write", ENOSPC, "No space left"}, {"write", EDQUOT, "quota"},
                                     {"write", EIO, "Input/output"},     {"fsync", EIO, "Input/output"},
                                     {"rename", EXDEV, "cross-device"},  {"rename", EIO, "Input/output"},
                                     {"mkdir", EACCES, "Permission"},    {"mkdir", EROFS, "Read-only"}};
  std::size_t tried = 0;
  for (const Fault& fault : faults) {
    for (int at = 1; at < 20; ++at) {
      INFO(fault.call << " " << at << " fails with " << fault.word);
      const fs::path parent = folder / (fault.call + std::to_string(fault.error) + "-" + std::to_string(at));
      REQUIRE(save(parent, 1, {"10"}).code == 0);
      const std::string only = std::string("SHIM_ONLY=") + fault.call;
      const ProcessResult result =
          save(parent, 1, {"20"},
               {only, "SHIM_FAIL_AT=" + std::to_string(at), "SHIM_ERRNO=" + std::to_string(fault.error)});
      const CheckpointSearch found = find_checkpoint(parent);
      REQUIRE(found.newest);
      check_content(*found.newest);
      if (result.code == 0) {
        CHECK(found.newest->step == 20);
        break;  // so many such calls a save does not make
      }
      ++tried;
      CHECK(result.code == (fault.error == EACCES ? 2 : 1));  // a folder one may not write to is bad input
      CHECK(result.out.empty());
      CHECK_THAT(result.err, says(fault.word) && says(parent.string()));
      const bool in_place = result.err.find("durable") != std::string::npos && found.newest->step == 20;
      CHECK((found.newest->step == 10 || in_place));  // the folder's own fsync comes when the name is taken
    }
  }
  CHECK(tried > 20);
}
