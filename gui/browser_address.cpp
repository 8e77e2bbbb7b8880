#include "browser_address.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/text.h"
#include "jobs/job_script.h"

namespace isobar {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : printable(value, 400);
}

std::string address_words(const Listening& listening) {
  return fmt::format("The window:\n  http://127.0.0.1:{}/{}\n", listening.port, listening.entry);
}

/// A port of the reader's machine that leads here.
std::string ssh_words(const Surroundings& here, const Listening& listening) {
  const std::string target = listening.socket.empty() ? fmt::format("127.0.0.1:{}", listening.port)
                                                      : std::filesystem::absolute(listening.socket).string();
  const std::string jump =
      here.job_from.empty() ? ""
                            : "-J " + shell_quoted(here.job_from) + " ";  // nodes have no way in of their own
  return fmt::format(
      "From another machine: run this there, leave it open, and open the same address there:\n"
      "  ssh -o ExitOnForwardFailure=yes -N -L {}:{} {}{}\n",
      listening.port, shell_quoted(target), jump, shell_quoted(here.user_at_host));
}

/// Of jupyter-server-proxy, which passes the browser's name for the hub on.
std::string notebook_words(const Surroundings& here, const Listening& listening) {
  const std::string proxied = fmt::format("proxy/{}/{}", listening.port, listening.entry);
  if (!here.hub_url.empty()) return fmt::format("In this notebook hub:\n  {}{}\n", here.hub_url, proxied);
  const std::string host = listening.hosts.empty() ? "HOST" : listening.hosts.front();
  const std::string where = here.hub_prefix.empty() ? "From a notebook (with jupyter-server-proxy)"
                                                    : "In this notebook hub (with jupyter-server-proxy)";
  const std::string prefix = here.hub_prefix.empty() ? "/.../" : here.hub_prefix;
  const std::string hint =
      listening.hosts.empty() ? ", HOST as your browser shows it; start this with --host HOST" : "";
  return fmt::format("{}{}:\n  https://{}{}{}\n", where, hint, host, prefix, proxied);
}

}  // namespace

Surroundings surroundings() {
  const WatchPlace place = watch_place("");
  Surroundings out;
  out.user_at_host = place.user_at_host();
  out.by_ssh = place.by_ssh;
  if (!variable("SLURM_JOB_ID").empty()) out.job_from = variable("SLURM_SUBMIT_HOST");
  out.hub_prefix = variable("JUPYTERHUB_SERVICE_PREFIX");
  if (place.in_hub && !host_of(variable("JUPYTERHUB_PUBLIC_URL")).empty())
    out.hub_url = variable("JUPYTERHUB_PUBLIC_URL");
  for (std::string* const folder : {&out.hub_prefix, &out.hub_url}) {
    if (!folder->empty() && !folder->ends_with('/')) *folder += '/';
  }
  return out;
}

std::string host_of(const std::string& url) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (!url.starts_with(scheme)) continue;
    const std::string rest = url.substr(scheme.size());
    return rest.substr(0, rest.find_first_of(":/?#"));
  }
  return "";
}

std::string how_to_open(const Surroundings& here, const Listening& listening) {
  const std::string address = address_words(listening);
  const std::string ssh = ssh_words(here, listening);
  const bool proxied = listening.socket.empty();  // a notebook's proxy knows ports only
  const std::string notebook = proxied ? notebook_words(here, listening) : "";
  std::string out;
  if (proxied && !here.hub_prefix.empty()) {
    out = notebook + address + ssh;
  } else if (here.by_ssh || !here.job_from.empty()) {
    out = ssh + address + notebook;
  } else {
    out = address + ssh + notebook;
  }
  return out + "Ctrl-C closes the window; runs go on.\n";
}

}  // namespace isobar
