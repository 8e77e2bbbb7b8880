#pragma once
// A program whose libraries are loaded once and that is run often: each run is a process of its own, forked
// where its main begins (forks_before_main.cpp).
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace isobar {

class LoadedProgram {
 public:
  /// `preloaded`: the library of forks_before_main.cpp first, and what else is to be loaded, with colons.
  LoadedProgram(const std::string& program, const std::string& preloaded);
  ~LoadedProgram();
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  /// The process; one at a time. `environment` is all of it, `folder` is where it stands; what it prints goes
  /// into the files `out` and `err`. Where `words` begin with another program, that one runs, and where it
  /// spawns this one (launch/spawn.h), it gets a fork.
  pid_t start(const std::vector<std::string>& words, const std::vector<std::string>& environment,
              const std::filesystem::path& folder, const std::string& out, const std::string& err);
  /// Its status as of waitpid, once it has ended.
  std::optional<int> ended();

 private:
  std::string program_, preloaded_;
  pid_t stands_;
  int socket_;
};

}  // namespace isobar
