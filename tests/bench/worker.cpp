#include "bench/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>

#include "bench/serve.h"
#include "core/clock.h"
#include "core/error.h"

namespace isobar {
namespace {

constexpr int kLeave_s = 3;

}  // namespace

Worker::Worker(std::string name, const std::vector<std::string>& words,
               const std::vector<std::string>& environment, const std::filesystem::path& log, int deadline_s)
    : name_(std::move(name)), log_(log), answers_(FileDescriptor()) {
  signal(SIGPIPE, SIG_IGN);  // a worker that is gone is an Error, not our end
  auto [their_input, our_output] = make_pipe();
  auto [our_input, their_output] = make_pipe();
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, their_input.number(), 0);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawn_file_actions_adddup2(&files, their_output.number(), kAnswers);
  pid_ = start_program(words, environment, files);
  commands_ = std::move(our_output);
  answers_ = LineReader(std::move(our_input));
  their_output.close();  // or its end would never be heard
  if (deadline_s == 0) return;
  try {
    hear(deadline_s);
  } catch (...) {
    stop();
    throw;
  }
}

Worker::~Worker() { stop(); }

void Worker::stop() {
  commands_.close();
  wait_for_end(pid_, kLeave_s);
}

nlohmann::json Worker::hear(int deadline_s) {
  const std::int64_t due_us = steady_us() + std::int64_t{deadline_s} * 1'000'000;
  const auto fail = [&](const std::string& what) {
    throw Error(what, name_, "its last words: " + last_words(log_), Exit::failed);
  };
  const std::optional<std::string> line = answers_.next(due_us);
  if (!line) {
    fail(steady_us() >= due_us ? fmt::format("a worker of the bench gave no answer within {} s", deadline_s)
                               : "a worker of the bench ended before it answered");
  }
  nlohmann::json answer = nlohmann::json::parse(*line, nullptr, false);
  if (answer.is_discarded()) fail("a worker of the bench answered something else than JSON");
  return answer;
}

void Worker::tell(const std::string& command) {
  const std::string line = command + "\n";
  try {
    write_fully(commands_, name_, std::as_bytes(std::span(line)));
  } catch (const Error&) {  // it ended; why is told by what is heard
  }
}

nlohmann::json Worker::ask(const std::string& command, int deadline_s) {
  tell(command);
  return hear(deadline_s);
}

}  // namespace isobar
