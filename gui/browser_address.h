#pragma once
// Lines for the user who started the window for a browser: where it is, and how a browser that runs
// elsewhere gets there.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace isobar {

/// Where the program runs, as far as it matters to that.
struct Surroundings {
  std::string user_at_host;  ///< "ana@login1"
  bool by_ssh = false;       ///< started in a shell that came over ssh
  std::string job_from;      ///< in a batch job: the machine that it was submitted from
  std::string hub_url;       ///< in a notebook hub that sets it: "https://hub.example.org/user/ana/"
  std::string hub_prefix;    ///< in a notebook hub: "/user/ana/"
};

/// From the environment: SSH_CONNECTION, SLURM_JOB_ID, JUPYTERHUB_SERVICE_PREFIX and others.
Surroundings surroundings();

/// "hub.example.org" of an address of the web; "" where it is none.
std::string host_of(const std::string& url);

struct Listening {
  std::uint16_t port = 0;  ///< port of the address; where a socket listens, the one on the browser's side
  std::filesystem::path socket;    ///< "" = a port listens
  std::string entry;               ///< "PLACE/?token=..."
  std::vector<std::string> hosts;  ///< the words of --host
};

/// Some lines; what applies here comes first.
std::string how_to_open(const Surroundings& here, const Listening& listening);

}  // namespace isobar
