#include "core/machine.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

namespace isobar {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string boot_id() {
  std::string out;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> out;
  return out;
}

std::string process_view() {
  struct stat view {};
  const bool known = stat("/proc/self/ns/pid", &view) == 0;
  return boot_id() + "/" + (known ? std::to_string(view.st_ino) : "0");
}

}  // namespace isobar
