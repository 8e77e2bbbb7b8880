#pragma once
// Runs a program by its argument list, with a deadline, and keeps what it said.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace isobar {

struct ProcessResult {
  int code = -1;  ///< exit code, 128 + signal, or -1 when the deadline passed and it was killed: `err` says
                  ///< where its threads stood
  std::string out;
  std::string err;
  double signal_to_exit_s = 0;  ///< from the first signal that was sent, 0 when none was
};

struct ProcessOptions {
  std::vector<std::string> environment = {};  ///< "NAME=value", added to or replacing what this process has
  std::string folder = "";                    ///< working folder, "" = this one
  int deadline_s = 300;                       ///< of one that hangs: no test depends on how fast a machine is
  int interrupt_after_ms = -1;                ///< sends `signal` then, when not negative
  int signal = 2;
  std::function<bool()> interrupt_when = {};  ///< sends `signal` as soon as this says so
  int times = 1;                              ///< how often `signal` is sent
  int pause_ms = 400;                         ///< between two of them: more than what counts as one request
  std::int64_t file_limit_bytes =
      -1;  ///< largest file it may write, when not negative: the nearest thing to a full disk
};

ProcessResult run_process(const std::vector<std::string>& words, const ProcessOptions& options = {});

}  // namespace isobar
