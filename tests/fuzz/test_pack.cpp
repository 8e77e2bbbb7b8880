// Packs are read whole or refused in words, by the reader and by the replay of a corpus.
#include <array>
#include <fstream>
#include <map>

#include "support/catch.h"
#include "support/errors.h"
#include "support/pack.h"
#include "support/process.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

namespace fs = std::filesystem;

constexpr std::array kTargets = {"stream", "tfevents", "npy", "safetensors", "toml", "tab_message"};
const std::string kLong(100, 'n');

fs::path corpus_of(const std::string& target) { return "tests/fuzz/corpus/" + target + ".tar"; }

void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

/// What tar writes of three files: one fills its block, one has no bytes, one has the longest name.
std::string small_pack(const std::vector<std::string>& what = {"a", "b", kLong}) {
  const TempFolder folder;
  write(folder / "a", std::string(512, 'a'));
  write(folder / "b", "");
  write(folder / kLong, std::string("c\0c", 3));
  fs::create_directory(folder / "d");
  write(folder / "d/a", "inside");
  fs::create_symlink("a", folder / "link");
  std::vector<std::string> words = {"/usr/bin/env", "tar", "--format=ustar", "-b1", "-cf", "pack.tar", "--"};
  words.insert(words.end(), what.begin(), what.end());
  REQUIRE(run_process(words, {.folder = folder.path().string()}).code == 0);
  return read_text_file(folder / "pack.tar", kMostPackBytes);
}

std::string refused(const std::string& pack) {
  return error_of([&] { parse_pack(pack, "p.tar"); });
}

/// `pack` with other bytes in its first header and a checksum that fits them.
std::string with_field(std::string pack, std::size_t at, const std::string& bytes) {
  pack.replace(at, bytes.size(), bytes);
  std::array<char, 8> sum{};
  std::snprintf(sum.data(), sum.size(), "%06o", static_cast<unsigned>(checksum_of(pack)));
  return pack.replace(148, sum.size(), sum.data(), sum.size());
}

ProcessResult replay(const fs::path& place) { return run_process({ISOBAR_REPLAY_TOML, place.string()}); }

}  // namespace

TEST_CASE("a pack gives back what tar was given") {
  const std::vector<PackedFile> files = parse_pack(small_pack(), "p.tar");
  REQUIRE(files.size() == 3);
  CHECK((files[0].name == "a" && files[0].bytes == std::string(512, 'a')));
  CHECK((files[1].name == "b" && files[1].bytes.empty()));
  CHECK((files[2].name == kLong && files[2].bytes == std::string("c\0c", 3)));
}

TEST_CASE("a pack that is cut off anywhere is refused") {
  const std::string whole = small_pack();
  REQUIRE(whole.size() == 7 * kPackBlock);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    const std::string text = refused(whole.substr(0, size));
    CHECK(
        (text.find("cut off") != std::string::npos || text.find("more than are left") != std::string::npos));
  }
}

TEST_CASE("a damaged pack is refused in words") {
  const std::string whole = small_pack();
  CHECK_THAT(refused(with_field(whole, 124, "00000007000")), says("a claims 3584 bytes, more than are left"));
  CHECK_THAT(refused(with_field(whole, 124, "77777777777")), says("a claims 8589934591 bytes"));
  CHECK_THAT(refused(with_field(whole, 124, "\xff\xff\xff\xff")), says("the length of a is no number"));
  CHECK_THAT(refused(with_field(whole, 124, "000000-0001")), says("the length of a is no number"));
  CHECK_THAT(refused(std::string(whole).replace(134, 1, "7")),
             says("a header is damaged") && says("p.tar: byte 0"));
  CHECK_THAT(refused(with_field(whole, 257, "other")), says("not a header"));
  CHECK_THAT(refused(with_field(whole, 0, "b")), says("the name b stands twice"));
  CHECK_THAT(refused(with_field(whole, 0, std::string(1, '\0'))), says("plain files"));
  CHECK_THAT(refused(with_field(whole, 0, "../a")), says("plain files"));
  CHECK_THAT(refused(with_field(whole, 345, "prefix")), says("plain files"));
  CHECK_THAT(refused(small_pack({"link"})), says("plain files"));
  CHECK_THAT(refused(small_pack({"d"})), says("plain files"));
  CHECK_THAT(refused(small_pack({"d/a"})), says("plain files"));
  CHECK_THAT(refused(whole + '\0'), says("bytes behind the end mark"));
  CHECK_THAT(refused(std::string(whole).replace(whole.size() - 1, 1, "x")), says("the end mark is damaged"));
  CHECK_THAT(refused(std::string(2 * kPackBlock, '\0')), says("holds no files"));
  CHECK_THAT(refused(""), says("cut off at byte 0"));
}

TEST_CASE("a replay says how many inputs it ran, and fails where there are none", "[.][nightly]") {
  const std::vector<PackedFile> files = read_pack(corpus_of("toml"));
  const ProcessResult all = replay(corpus_of("toml"));
  CHECK(all.code == 0);
  CHECK(all.out == std::to_string(files.size()) + " inputs\n");
  for (const PackedFile& file : files) CHECK_THAT(all.err, says(file.name + "\n"));

  const TempFolder folder;
  CHECK_THAT(replay(folder.path()).err, says("holds no inputs"));
  write(folder / "crash-1", "a = [");
  write(folder / "crash-2", "a = 1");
  CHECK(replay(folder / "crash-1").out == "1 inputs\n");
  CHECK(replay(folder.path()).out == "2 inputs\n");

  const auto fails = [&](const std::string& pack) {
    write(folder / "p.tar", pack);
    const ProcessResult result = replay(folder / "p.tar");
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK_THAT(fails(""), says("cut off at byte 0") && says("p.tar"));
  CHECK_THAT(fails(std::string(2 * kPackBlock, '\0')), says("holds no files"));
  CHECK_THAT(fails(small_pack().substr(0, 5 * kPackBlock)), says("cut off"));
  CHECK_THAT(fails(with_field(small_pack(), 124, "77777777777")), says("claims 8589934591 bytes"));
  CHECK(replay(folder / "nothing").code == 2);
  CHECK(run_process({ISOBAR_REPLAY_TOML}).code == 2);
}

TEST_CASE("every seed that a script writes is in its pack, byte for byte") {
  const TempFolder folder;
  for (const char* script : {"tests/fuzz/make_seeds.py", "tests/fuzz/make_file_seeds.py"})
    REQUIRE(run_process({ISOBAR_PYTHON, script, folder.path().string()}).code == 0);
  for (const char* target : kTargets) {
    std::map<std::string, std::string> packed;
    for (PackedFile& file : read_pack(corpus_of(target))) packed[file.name] = std::move(file.bytes);
    for (const fs::directory_entry& seed : fs::directory_iterator(folder / target)) {
      INFO(seed.path());
      const auto found = packed.find(seed.path().filename().string());
      REQUIRE(found != packed.end());
      CHECK(found->second == read_text_file(seed.path(), kMostPackBytes));
    }
  }
}
