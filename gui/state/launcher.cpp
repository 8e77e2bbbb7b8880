#include "state/launcher.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLogsKept = 20;

/// Makes the folder and leaves only the newest logs in it.
void tidy(const fs::path& folder) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) throw system_error("cannot make the folder", folder.string(), code.value());
  std::vector<fs::path> logs;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, code)) {
    if (entry.path().filename().string().rfind("start-", 0) == 0) logs.push_back(entry.path());
  }
  std::ranges::sort(logs);
  for (std::size_t i = 0; i + kLogsKept < logs.size() + 1 && i < logs.size(); ++i) fs::remove(logs[i], code);
}

}  // namespace

std::vector<std::string> RunRequest::arguments() const {
  if (!words.empty()) return words;
  std::vector<std::string> out = {"run", lesson};
  if (!preset.empty()) out.insert(out.end(), {"--preset", preset});
  for (const std::string& set : sets) out.insert(out.end(), {"--set", set});
  if (!resume.empty()) out.insert(out.end(), {"--resume", resume});
  return out;
}

std::string command_text(const RunRequest& request) {
  std::string out = "./isobar";
  for (const std::string& word : request.arguments()) out += " " + shell_quoted(word);
  return out;
}

Launcher::Launcher(fs::path isobar, fs::path folder, fs::path logs)
    : isobar_(std::move(isobar)), folder_(std::move(folder)), logs_(std::move(logs)) {}

void Launcher::start(const RunRequest& request) {
  poll();
  if (child_)
    throw Error("a run started here is still going on", request_.lesson,
                "stop it first, or start the other in a terminal");
  tidy(logs_);
  log_ = logs_ / fmt::format("start-{}-{}.log", wall_stamp(), steady_us() % 1000000);
  std::vector<std::string> words = {isobar_.string()};
  std::ranges::copy(request.arguments(), std::back_inserter(words));
  child_ = std::make_unique<ChildProcess>(words, folder_, log_);
  request_ = request;
  last_pid_ = child_->pid();
  last_code_.reset();
}

void Launcher::stop() {
  if (child_) child_->send(SIGINT);
}

bool Launcher::poll() {
  if (!child_) return false;
  const std::optional<int> code = child_->exit_code();
  if (!code) return false;
  last_code_ = code;
  child_.reset();
  return true;
}

}  // namespace isobar
