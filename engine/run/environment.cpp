#include "run/environment.h"

#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/toml_text.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/machine.h"
#include "core/text.h"
#include "device/device.h"

namespace isobar {
namespace {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string packed_ref(const std::filesystem::path& git, const std::string& ref) {
  std::ifstream file(git / "packed-refs");
  for (std::string line; std::getline(file, line);) {
    if (line.size() == 41 + ref.size() && line.compare(41, std::string::npos, ref) == 0)
      return line.substr(0, 40);
  }
  return "";
}

}  // namespace

std::string project_commit() {
  const std::filesystem::path git = project_home() / ".git";
  std::string head = first_line(git / "HEAD");
  if (head.rfind("ref: ", 0) == 0) {
    const std::string ref = head.substr(5);
    head = first_line(git / ref);
    if (head.empty()) head = packed_ref(git, ref);
  }
  const bool is_digest = head.size() >= 40 && std::all_of(head.begin(), head.end(),
                                                          [](unsigned char c) { return std::isxdigit(c); });
  return is_digest ? head.substr(0, 12) : "";
}

std::string environment_toml(c10::Device device, int threads, const std::vector<std::string>& command) {
  std::vector<std::string> typed;
  for (const std::string& argument : command) typed.push_back(shell_quoted(argument));
  std::ostringstream out;
  out << "[environment]  # where and with what; not read back\n"
      << "started = " << toml_string(wall_iso()) << "\n"
      << "host = " << toml_string(host_name()) << "\n"
      << "cpu = " << toml_string(cpu_name()) << "\n"
      << "cpu_kernels = " << toml_string(cpu_capability()) << "\n"
      << "device = " << toml_string(device.str()) << "\n"
      << "device_is = " << toml_string(device_text(device)) << "\n"
      << "threads = " << threads << "\n"
      << "libtorch = "
      << toml_string(fmt::format("{}.{}.{}", TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR, TORCH_VERSION_PATCH))
      << "\n"
      << "compiler = " << toml_string(__VERSION__) << "\n"
      << "commit = " << toml_string(project_commit()) << "\n"
      << "command = " << toml_string(join(typed, " ")) << "\n";
  return out.str();
}

}  // namespace isobar
