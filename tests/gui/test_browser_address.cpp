// What is printed for whoever started the window for a browser: which way comes first, and that nothing of
// the environment reaches a shell but as one word.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>

#include "browser_address.h"
#include "core/text.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;

namespace {

/// The variables that are asked, as a test wants them; afterwards as they were.
class Variables {
 public:
  explicit Variables(const std::map<std::string, std::string>& wanted) {
    for (const char* const name : {"SSH_CONNECTION", "SLURM_JOB_ID", "SLURM_SUBMIT_HOST",
                                   "JUPYTERHUB_SERVICE_PREFIX", "JUPYTERHUB_PUBLIC_URL"}) {
      const char* const value = std::getenv(name);
      before_[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
      ::unsetenv(name);
    }
    for (const auto& [name, value] : wanted) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

Surroundings found(const std::map<std::string, std::string>& variables) {
  const Variables set(variables);
  return surroundings();
}

const Listening kPort{.port = 4000, .socket = {}, .entry = "abc/?token=t", .hosts = {}};
const Listening kSocket{.port = 4000, .socket = "/tmp/a b/window", .entry = "abc/?token=t", .hosts = {}};

/// The one line that is a command.
std::string ssh_line(const std::string& text) {
  const std::size_t at = text.find("\n  ssh ");
  REQUIRE(at != std::string::npos);
  return text.substr(at + 3, text.find('\n', at + 1) - at - 3);
}

/// How a shell takes the line apart.
std::vector<std::string> shell_words(const std::string& line) {
  const std::string command = "set -- " + line + "; for word; do printf '%s\\n' \"$word\"; done";
  FILE* const pipe = ::popen(("exec 2>&1; " + command).c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::vector<std::string> out(1);
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    if (c == '\n') {
      out.emplace_back();
    } else {
      out.back() += static_cast<char>(c);
    }
  }
  CHECK(::pclose(pipe) == 0);
  out.pop_back();
  return out;
}

bool has_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == 127; });
}

}  // namespace

TEST_CASE("The host of an address of the web is what stands before port, path and question") {
  CHECK(host_of("https://hub.example.org/user/ana/") == "hub.example.org");
  CHECK(host_of("http://hub.example.org:8000") == "hub.example.org");
  CHECK(host_of("https://hub.example.org?a") == "hub.example.org");
  for (const char* const none : {"", "hub.example.org", "ftp://hub.example.org/", "https://", "//hub/"}) {
    CAPTURE(none);
    CHECK(host_of(none).empty());
  }
}

TEST_CASE("Surroundings are what the environment says") {
  const Surroundings none = found({});
  CHECK_FALSE(none.by_ssh);
  CHECK((none.job_from + none.hub_url + none.hub_prefix).empty());
  CHECK_FALSE(none.user_at_host.empty());
  CHECK(found({{"SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22"}}).by_ssh);
  CHECK(found({{"SLURM_JOB_ID", "7"}, {"SLURM_SUBMIT_HOST", "login1"}}).job_from == "login1");
  CHECK(found({{"SLURM_SUBMIT_HOST", "login1"}}).job_from.empty());  // a login node that says so of itself

  const std::string url = "https://hub.example.org/user/ana";
  const Surroundings hub =
      found({{"JUPYTERHUB_SERVICE_PREFIX", "/user/ana"}, {"JUPYTERHUB_PUBLIC_URL", url}});
  CHECK(hub.hub_prefix == "/user/ana/");
  CHECK(hub.hub_url == url + "/");
  CHECK(found({{"JUPYTERHUB_PUBLIC_URL", url}}).hub_url.empty());
  CHECK(found({{"JUPYTERHUB_SERVICE_PREFIX", "/user/ana/"}, {"JUPYTERHUB_PUBLIC_URL", "none"}})
            .hub_url.empty());
}

TEST_CASE("What applies where the window was started comes first") {
  const Surroundings here{
      .user_at_host = "ana@desk", .by_ssh = false, .job_from = "", .hub_url = "", .hub_prefix = ""};
  CHECK(how_to_open(here, kPort).starts_with("The window:\n  http://127.0.0.1:4000/abc/?token=t\n"));

  Surroundings remote = here;
  remote.by_ssh = true;
  const std::string far = how_to_open(remote, kPort);
  CHECK(far.starts_with("From another machine"));
  CHECK(ssh_line(far) == "ssh -o ExitOnForwardFailure=yes -N -L 4000:127.0.0.1:4000 ana@desk");

  Surroundings job = here;
  job.job_from = "login1";
  CHECK(how_to_open(job, kPort).starts_with("From another machine"));
  CHECK_THAT(ssh_line(how_to_open(job, kPort)), says(" -J login1 ana@desk"));

  Surroundings hub = here;
  hub.hub_prefix = "/user/ana/";
  const std::string guessed = how_to_open(hub, kPort);
  CHECK(guessed.starts_with("In this notebook hub"));
  CHECK_THAT(guessed, says("https://HOST/user/ana/proxy/4000/abc/?token=t") && says("--host HOST"));
  Listening named = kPort;
  named.hosts = {"hub.example.org"};
  CHECK_THAT(how_to_open(hub, named), says("https://hub.example.org/user/ana/proxy/4000/abc/?token=t"));
  hub.hub_url = "https://other.example.org/user/ana/";
  CHECK_THAT(how_to_open(hub, named), says("  https://other.example.org/user/ana/proxy/4000/abc/?token=t\n"));

  const std::string socket = how_to_open(hub, kSocket);  // of which a notebook's proxy knows nothing
  CHECK(socket.starts_with("The window:"));
  CHECK(socket.find("proxy") == std::string::npos);
  CHECK(shell_words(ssh_line(socket)).at(5) == "4000:/tmp/a b/window");
}

TEST_CASE("Whatever the environment holds stays one word of the shell and one line of text") {
  for (const char* const hostile :
       {"login; touch canary", "log in", "a'b", "a\"b", "$(touch canary)", "`touch canary`", "a\\",
        "a\n  ssh evil", "a\x1b]0;x\x07", "a\r\tb", "*", "~", "-oProxyCommand=touch canary", "\xff\xfe"}) {
    CAPTURE(hostile);
    const Surroundings job = found({{"SLURM_JOB_ID", "7"}, {"SLURM_SUBMIT_HOST", hostile}});
    const std::string text = how_to_open(job, kSocket);
    CHECK_FALSE(has_control(text));
    const std::vector<std::string> words = shell_words(ssh_line(text));
    REQUIRE(words.size() == 9);
    CHECK(words[0] == "ssh");
    CHECK(words[6] == "-J");
    CHECK(words[7] == printable(hostile, 400));
    CHECK(words[8] == job.user_at_host);

    const Surroundings hub = found({{"JUPYTERHUB_SERVICE_PREFIX", hostile},
                                    {"JUPYTERHUB_PUBLIC_URL", "https://hub/" + std::string(hostile)}});
    CHECK_FALSE(has_control(how_to_open(hub, kPort)));
    CHECK(ssh_line(how_to_open(hub, kPort)) ==
          "ssh -o ExitOnForwardFailure=yes -N -L 4000:127.0.0.1:4000 " + shell_quoted(hub.user_at_host));
  }
}
