#pragma once
// The one line with which a person sees a job's run from where they sit.
#include <cstdint>
#include <filesystem>
#include <string>

namespace isobar {

/// Where `submit` runs, and how it is reached.
struct WatchPlace {
  bool by_ssh = false;  ///< this shell came over ssh: whoever watches sits elsewhere
  bool in_hub = false;  ///< in a notebook hub, whose proxy carries the window
  bool has_display = false;
  std::string login;  ///< how it is called from outside, "perlmutter.example.org"
  std::string user;   ///< "" = not known
  std::int64_t user_id = 0;
  std::filesystem::path home;  ///< the project's folder: ./isobar is there

  /// "ada@perlmutter.example.org", as ssh takes it.
  std::string user_at_host() const { return user.empty() ? login : user + "@" + login; }
  bool is_near() const { return in_hub || !by_ssh; }
};

/// From the environment: SSH_CONNECTION, JUPYTERHUB_SERVICE_PREFIX, DISPLAY, WAYLAND_DISPLAY. `login` is what
/// the profile or --login says, "" = the name of this machine.
WatchPlace watch_place(const std::string& login);

/// Near: the window, in a browser where there is no display. From elsewhere: an ssh that carries a port of
/// the reader's machine to a socket on the login node, and opens the window behind that socket over the same
/// connection, so that both land on one node where a name stands for several. `number` keeps the ports of two
/// jobs apart.
std::string watch_line(const WatchPlace& place, const std::filesystem::path& run, std::int64_t number);

}  // namespace isobar
