// Runs a harness over files without libFuzzer, so that a sanitizer of any compiler sees the corpus.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const fs::path& place) {
  if (!fs::is_directory(place)) return {place};
  std::vector<fs::path> out;
  for (const fs::directory_entry& entry : fs::directory_iterator(place))
    if (entry.is_regular_file()) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

bool run(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return false;
  // A vector of the very size: a read behind its end is seen.
  const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
  std::fprintf(stderr, "%s\n", path.filename().c_str());
  LLVMFuzzerTestOneInput(input.data(), input.size());
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t done = 0;
  try {
    for (int i = 1; i < count; ++i) {
      for (const fs::path& path : files_of(arguments[i])) {
        if (!run(path)) {
          std::fprintf(stderr, "cannot read %s\n", path.c_str());
          return 2;
        }
        ++done;
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "threw: %s\n", error.what());
    return 1;
  }
  std::printf("%zu inputs\n", done);
  return done == 0 ? 2 : 0;
}
