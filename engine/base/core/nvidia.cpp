#include "core/nvidia.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace isobar {

namespace fs = std::filesystem;

bool has_nvidia_driver(const fs::path& root) {
  std::error_code code;
  for (const char* path : {"dev/nvidiactl", "proc/driver/nvidia/version", "dev/dxg"}) {  // the last one: WSL
    if (fs::exists(root / path, code)) return true;
  }
  return false;
}

std::string nvidia_driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);  // NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 ...
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const bool number =
        std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) || c == '.'; });
    if (number && word.find('.') != std::string::npos) return word;
  }
  return "";
}

fs::path cuda_plugin_file() {
  const char* const named = std::getenv("ISOBAR_CUDA_PLUGIN");
  if (named != nullptr && *named != '\0') return named;
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  return program.parent_path().parent_path() / "lib" / "libisobar_cuda.so";
}

std::string likely_device_kind() {
  std::error_code code;
  return has_nvidia_driver() && fs::exists(cuda_plugin_file(), code) ? "cuda" : "cpu";
}

}  // namespace isobar
