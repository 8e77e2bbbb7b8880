// Runs a harness over inputs without libFuzzer, so that a sanitizer of any compiler sees the corpus.
// Usage: fuzz_replay_FORMAT PACK.tar|FOLDER|FILE...     (a file is one input, as the fuzzer leaves a crash)
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "support/pack.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

using namespace isobar;

namespace {

namespace fs = std::filesystem;

std::vector<PackedFile> inputs_of(const fs::path& place) {
  if (place.extension() == ".tar") return read_pack(place);
  const auto input_of = [](const fs::path& path) {
    return PackedFile{path.filename().string(), read_text_file(path, kMostPackBytes)};
  };
  if (!fs::is_directory(place)) return {input_of(place)};
  std::vector<PackedFile> out;
  for (const fs::directory_entry& entry : fs::directory_iterator(place))
    if (entry.is_regular_file()) out.push_back(input_of(entry.path()));
  std::sort(out.begin(), out.end(), [](const auto& one, const auto& other) { return one.name < other.name; });
  return out;
}

void run(const PackedFile& file) {
  // A vector of the very size: a read behind its end is seen.
  const std::vector<std::uint8_t> input(file.bytes.begin(), file.bytes.end());
  std::fprintf(stderr, "%s\n", file.name.c_str());
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

int replay(const std::vector<fs::path>& places) {
  std::size_t done = 0;
  for (const fs::path& place : places) {
    std::vector<PackedFile> inputs;
    try {
      inputs = inputs_of(place);
    } catch (const Error& error) {  // of the place, not of the harness: that one is a finding
      std::fprintf(stderr, "%s\n", error.text().c_str());
      return 2;
    }
    if (inputs.empty()) {
      std::fprintf(stderr, "%s holds no inputs\n", place.c_str());
      return 2;
    }
    for (const PackedFile& input : inputs) run(input);
    done += inputs.size();
  }
  std::printf("%zu inputs\n", done);
  return done == 0 ? 2 : 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return replay({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "threw: %s\n", error.what());
    return 1;
  }
}
