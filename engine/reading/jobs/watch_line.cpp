#include "jobs/watch_line.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

#include "core/files.h"
#include "core/machine.h"
#include "core/text.h"

namespace isobar {
namespace {

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

std::string user_name() {
  const passwd* const entry = getpwuid(getuid());
  return entry == nullptr || entry->pw_name == nullptr ? "" : entry->pw_name;
}

/// Above the ports that services have, below those that systems hand out by themselves.
std::int64_t port_of(std::int64_t number) {
  constexpr std::int64_t kFirst = 20'000, kPorts = 10'000;
  return kFirst + (number < 0 ? 0 : number % kPorts);
}

}  // namespace

WatchPlace watch_place(const std::string& login) {
  WatchPlace out;
  out.by_ssh = is_set("SSH_CONNECTION");
  out.in_hub = is_set("JUPYTERHUB_SERVICE_PREFIX");
  out.has_display = is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
  out.login = login.empty() ? host_name() : login;
  out.user = user_name();
  out.user_id = getuid();
  out.home = std::filesystem::absolute(project_home()).lexically_normal();
  return out;
}

std::string watch_line(const WatchPlace& place, const std::filesystem::path& run, std::int64_t number) {
  const std::string folder = shell_quoted(run.string());
  const std::string isobar = shell_quoted((place.home / "isobar").string());
  if (place.is_near())
    return isobar + (place.has_display && !place.in_hub ? " gui " : " gui --browser ") + folder;
  const std::string socket = fmt::format("/tmp/isobar-{}/watch-{}", place.user_id, number);
  const std::int64_t port = port_of(number);
  const std::string there =
      fmt::format("{} gui --browser --socket {} --port {} {}", isobar, socket, port, folder);
  return fmt::format("ssh -t -o ExitOnForwardFailure=yes -L 127.0.0.1:{}:{} {} {}", port, socket,
                     shell_quoted(place.user_at_host()), shell_quoted(there));
}

}  // namespace isobar
