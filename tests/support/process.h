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
};

struct ProcessOptions {
  std::vector<std::string> environment = {};  ///< "NAME=value", added to or replacing what this process has
  std::string folder = "";                    ///< working folder, "" = this one
  int deadline_s = 300;                       ///< of one that hangs: no test depends on how fast a machine is
  int signal = 2;
  std::function<bool()> interrupt_when = {};  ///< sends `signal` as soon as this says so
  std::function<void()> interrupted = {};     ///< called once it was sent
  int times = 1;                              ///< how often `signal` is sent, unless it ends before
  int pause_ms = 400;                         ///< between two of them: more than what counts as one request
  std::int64_t file_limit_bytes =
      -1;  ///< largest file it may write, when not negative: the nearest thing to a full disk
  std::string preloaded = "";  ///< not "": what keeps a program loaded between its runs (loaded_program.h)
  std::string started = "";    ///< with it: the program that is kept, where the one that is run starts it
};

/// For interrupt_when: a file is there, or a moment of a campaign has come.
std::function<bool()> when_there(const std::string& file);
std::function<bool()> after_ms(int ms);

ProcessResult run_process(const std::vector<std::string>& words, const ProcessOptions& options = {});

}  // namespace isobar
