#pragma once
// A process that a bench talks to: it works when it is asked to, and sleeps while another one is measured.
#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/pipes.h"

namespace isobar {

class Worker {
 public:
  /// Starts `words` (found in PATH; `environment`: "NAME=value" beside ours) with commands on its standard
  /// input and answers on its descriptor 3; what it prints goes to `log`. Waits until it is ready; with
  /// `deadline_s` = 0 it does not, and the first answer to `hear` is that it is.
  Worker(std::string name, const std::vector<std::string>& words, const std::vector<std::string>& environment,
         const std::filesystem::path& log, int deadline_s);
  /// Ends its input, and kills it if it stays.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Sends one command and waits for its answer. Error (exit code 1) with the last words of its log when the
  /// worker ends, answers something else than JSON, or needs longer than `deadline_s`.
  nlohmann::json ask(const std::string& command, int deadline_s);
  /// The two halves of `ask`, for workers that need one another to answer.
  void tell(const std::string& command);
  nlohmann::json hear(int deadline_s);

  pid_t pid() const { return pid_; }

 private:
  void stop();

  std::string name_;
  std::filesystem::path log_;
  pid_t pid_ = 0;
  FileDescriptor commands_;
  LineReader answers_;
};

}  // namespace isobar
