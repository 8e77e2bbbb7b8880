#include "run/environment.h"

#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <sstream>

#include "config/toml_text.h"
#include "core/clock.h"
#include "core/commit.h"
#include "core/machine.h"
#include "core/text.h"
#include "device/device.h"

namespace isobar {

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
