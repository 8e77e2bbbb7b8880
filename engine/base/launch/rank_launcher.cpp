#include "launch/rank_launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <set>
#include <tuple>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/live_terminal.h"
#include "core/memory.h"
#include "core/standard_output.h"
#include "core/text.h"
#include "launch/private_folder.h"
#include "launch/rank_output.h"
#include "launch/spawn.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kSameRequest_us = 250'000;  // launchers and schedulers send one to all they know
constexpr std::int64_t kHurry_us = 600'000;        // from a second request to SIGKILL
constexpr std::int64_t kLastWords_us = 1'000'000;  // for the last output
constexpr int kCheckpointed = static_cast<int>(Exit::checkpointed);
constexpr const char* kRunLink = "run";
constexpr const char* kConsequence = "this is a consequence";  // comm's words for a lost rank

struct Child {
  pid_t pid = 0;
  RankOutput output;
  RankOutput errors;
  bool ended = false;
  bool killed_here = false;  ///< SIGKILL came from here
  int sweep = 0;             ///< in which look at all ranks its end was seen
};

bool stands_still(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

/// How likely a rank that failed is the one that the others followed; 0 is likeliest.
enum class Suspicion { of_its_own, stood_still, not_said, follower };

/// The ranks under way.
class Group {
 public:
  Group(int ranks, const RankOptions& options) : options_(options) {
    out_.ranks.resize(static_cast<std::size_t>(ranks));
    oom_kills_ = memory_state().oom_kills;
    begin_us_ = steady_us();
  }
  ~Group() {  // only where starting one of them failed are there any left
    for (const Child& child : children_) {
      if (child.ended) continue;
      kill(-child.pid, SIGKILL);
      waitpid(child.pid, nullptr, 0);
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  void start(const std::vector<std::string>& words, const sigset_t& mask);
  RanksEnded wait(const HeldSignals& signals);

 private:
  bool all_ended() const {
    return std::all_of(children_.begin(), children_.end(), [](const Child& child) { return child.ended; });
  }
  void send(int signal, bool to_group = true);
  void on_signal(int number);
  void reap();
  void reap_one(std::size_t rank);
  void end_stopped();
  void watch_deadlines();
  void hear(const HeldSignals& signals);
  void finish_output(const HeldSignals& signals);
  bool failed(const RankEnded& rank) const;
  Suspicion suspicion(const RankEnded& rank) const;
  void judge();

  const RankOptions& options_;
  PrivateFolder folder_;
  OutputQueue to_output_{STDOUT_FILENO};
  OutputQueue to_errors_{STDERR_FILENO};
  std::vector<Child> children_;
  RanksEnded out_;
  bool live_line_ = false;
  std::uint64_t oom_kills_ = 0;
  std::int64_t begin_us_ = 0;
  std::int64_t first_us_ = 0;  ///< time of the first failure, 0 = none yet
  std::int64_t asked_us_ = 0;  ///< time of the first request to stop
  bool hurried_ = false;       ///< a second one came
  std::set<int> asked_;        ///< signals that were passed on
  std::int64_t kill_us_ = std::numeric_limits<std::int64_t>::max();
  int sweep_ = 0;
};

std::vector<std::string> environment_of(int rank, int ranks, const std::filesystem::path& folder) {
  return {"RANK=" + std::to_string(rank), "LOCAL_RANK=" + std::to_string(rank),
          "WORLD_SIZE=" + std::to_string(ranks), "ISOBAR_MEETING=" + (folder / "meeting").string()};
}

void Group::start(const std::vector<std::string>& words, const sigset_t& mask) {
  const auto ranks = static_cast<int>(out_.ranks.size());
  live_line_ = !options_.quiet && is_live_terminal(STDOUT_FILENO);
  const FileDescriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  for (int rank = 0; rank < ranks; ++rank) {
    Child child{.output = RankOutput(rank, options_.quiet ? nullptr : &to_output_),
                .errors = RankOutput(rank, options_.quiet ? nullptr : &to_errors_)};
    const bool as_it_is = live_line_ && rank == 0;
    const SpawnOptions how{.mask = &mask,
                           .environment = environment_of(rank, ranks, folder_.path()),
                           .input = nothing.number(),
                           .output = as_it_is ? -1 : child.output.end_of_rank(),
                           .errors = child.errors.end_of_rank()};
    child.pid = options_.start ? options_.start(words, how) : spawn(words, how);
    child.output.rank_has_it();
    child.errors.rank_has_it();
    children_.push_back(std::move(child));
    out_.ranks[static_cast<std::size_t>(rank)].rank = rank;
  }
}

void Group::send(int signal, bool to_group) {
  for (Child& child : children_) {
    if (child.ended) continue;
    kill(to_group ? -child.pid : child.pid, signal);
    child.killed_here = child.killed_here || signal == SIGKILL;
  }
}

void Group::on_signal(int number) {
  if (number == SIGTSTP) {
    send(SIGSTOP);
    raise(SIGSTOP);
  } else if (number == SIGCONT) {
    send(SIGCONT);
  } else if (number > 0 && number != SIGCHLD) {
    send(number);
    out_.asked = number;
    asked_.insert(number);
    const std::int64_t now_us = steady_us();
    const bool ends = number == SIGINT || number == SIGTERM;
    if (ends && asked_us_ > 0 && now_us - asked_us_ > kSameRequest_us) {
      kill_us_ = std::min(kill_us_, now_us + kHurry_us);
      hurried_ = true;
    }
    if (ends && asked_us_ == 0) asked_us_ = now_us;
  }
}

bool Group::failed(const RankEnded& rank) const {
  const bool as_asked = asked_.contains(rank.code - 128);
  return rank.code != 0 && rank.code != kCheckpointed && !as_asked;
}

void Group::reap_one(std::size_t rank) {
  Child& child = children_[rank];
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid != child.pid)
    return;
  RankEnded& ended = out_.ranks[rank];
  ended.end_us = steady_us();
  kill(-child.pid, SIGKILL);  // what it started; its number is still taken, by itself
  int status = 0;
  rusage usage{};
  wait4(child.pid, &status, 0, &usage);
  child.ended = true;
  child.sweep = sweep_;
  ended.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  ended.code = ended.signal != 0 ? 128 + ended.signal : WEXITSTATUS(status);
  ended.peak_bytes = usage.ru_maxrss * 1024;
  ended.out_of_memory = ended.signal == SIGKILL && memory_state().oom_kills > oom_kills_;
  child.output.finish(live_line_);
  child.errors.finish(live_line_);
  ended.errors = child.errors.kept();
  if (options_.quiet) ended.output = child.output.kept();
}

void Group::reap() {
  ++sweep_;
  for (std::size_t rank = 0; rank < children_.size(); ++rank) {
    if (!children_[rank].ended) reap_one(rank);
  }
  if (first_us_ > 0) return end_stopped();
  const bool any = std::any_of(children_.begin(), children_.end(), [&](const Child& child) {
    return child.ended && failed(out_.ranks[static_cast<std::size_t>(&child - children_.data())]);
  });
  if (!any) return;
  first_us_ = steady_us();
  for (std::size_t rank = 0; rank < children_.size(); ++rank) {
    out_.ranks[rank].stopped = !children_[rank].ended && stands_still(children_[rank].pid);
  }
  send(SIGTERM);
  kill_us_ = std::min(kill_us_, first_us_ + static_cast<std::int64_t>(options_.grace_s * 1e6));
}

/// Not while others could take its end for the cause of theirs.
void Group::end_stopped() {
  const auto is_left = [&](std::size_t rank) { return !children_[rank].ended; };
  for (std::size_t rank = 0; rank < children_.size(); ++rank) {
    if (is_left(rank) && !out_.ranks[rank].stopped) return;
  }
  for (std::size_t rank = 0; rank < children_.size(); ++rank) {
    if (is_left(rank)) kill(-children_[rank].pid, SIGKILL);
    children_[rank].killed_here = children_[rank].killed_here || is_left(rank);
  }
}

void Group::watch_deadlines() {
  const std::int64_t now_us = steady_us();
  if (options_.deadline_s > 0 && static_cast<double>(now_us - begin_us_) > options_.deadline_s * 1e6)
    out_.timed_out = true;
  if (out_.timed_out || now_us > kill_us_) send(SIGKILL);
}

void Group::hear(const HeldSignals& signals) {
  std::vector<pollfd> files = {{.fd = signals.number(), .events = POLLIN, .revents = 0},
                               to_output_.to_wait_for(),
                               to_errors_.to_wait_for()};
  for (const Child& child : children_) {
    files.push_back({.fd = child.output.number(), .events = POLLIN, .revents = 0});
    files.push_back({.fd = child.errors.number(), .events = POLLIN, .revents = 0});
  }
  if (poll(files.data(), files.size(), kTick_ms) == 0 && options_.tick) options_.tick();
  if (files[1].revents != 0) to_output_.write_some();
  if (files[2].revents != 0) to_errors_.write_some();
  for (Child& child : children_) {
    child.output.pass_on(live_line_);
    child.errors.pass_on(live_line_);
  }
  for (int number = signals.next(0); number > 0; number = signals.next(0)) on_signal(number);
}

RanksEnded Group::wait(const HeldSignals& signals) {
  while (!all_ended()) {
    hear(signals);
    reap();
    watch_deadlines();
  }
  finish_output(signals);
  judge();
  if (out_.code == 0 && to_output_.is_lost()) throw lost_output();
  return std::move(out_);
}

/// Waits for a slow reader, but not for long once somebody wants an end.
void Group::finish_output(const HeldSignals& signals) {
  std::int64_t due_us = std::numeric_limits<std::int64_t>::max();
  while (!(to_output_.is_empty() && to_errors_.is_empty()) && steady_us() < due_us) {
    hear(signals);
    watch_deadlines();
    const bool is_wanted = out_.asked != 0 || out_.timed_out;
    if (is_wanted) due_us = std::min(due_us, steady_us() + kLastWords_us);
  }
}

Suspicion Group::suspicion(const RankEnded& rank) const {
  if (rank.stopped) return Suspicion::stood_still;
  if (rank.signal != 0)
    return rank.signal == SIGTERM && rank.end_us > first_us_ ? Suspicion::follower : Suspicion::of_its_own;
  if (rank.errors.find(kConsequence) != std::string::npos) return Suspicion::follower;
  if (!rank.status) return Suspicion::not_said;
  return rank.status->phase == RankPhase::followed ? Suspicion::follower : Suspicion::of_its_own;
}

void Group::judge() {
  using Key = std::tuple<Suspicion, int, bool, int>;
  std::optional<Key> best;
  for (RankEnded& rank : out_.ranks) {
    const Child& child = children_[static_cast<std::size_t>(rank.rank)];
    std::optional<RankStatus> said = read_rank_status(folder_.path() / kRunLink, rank.rank);
    if (!said) said = read_rank_status(folder_.path(), rank.rank);  // its status where ranks meet
    if (said && said->pid == child.pid) rank.status = said;
    if (!failed(rank) || (child.killed_here && !rank.stopped)) continue;
    const Key key{suspicion(rank), child.sweep, rank.signal == 0, rank.rank};
    if (!best || key < *best) best = key;
  }
  // Where a request to stop came, ranks that had not met yet end by it, and the others follow.
  if (best && (std::get<Suspicion>(*best) != Suspicion::follower || out_.asked == 0))
    out_.first = std::get<3>(*best);
  for (RankEnded& rank : out_.ranks) {
    rank.followed = out_.first >= 0 && rank.rank != out_.first && rank.code != 0;
    out_.code = std::max(out_.code, rank.code);
  }
  const bool killed_here =
      std::any_of(children_.begin(), children_.end(), [](const Child& child) { return child.killed_here; });
  if (out_.first < 0 && hurried_ && killed_here) out_.code = 128 + out_.asked;  // our way of doing as asked
  if (out_.timed_out) out_.code = static_cast<int>(Exit::failed);
  if (out_.first < 0) return;
  const RankEnded& first = out_.ranks[static_cast<std::size_t>(out_.first)];
  out_.code = first.stopped ? static_cast<int>(Exit::failed) : first.code;
}

/// SIGPIPE is ignored for as long as it lives: training continues when nobody reads its output.
class IgnoredPipe {
 public:
  IgnoredPipe() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~IgnoredPipe() { std::signal(SIGPIPE, before_); }
  IgnoredPipe(const IgnoredPipe&) = delete;
  IgnoredPipe& operator=(const IgnoredPipe&) = delete;

 private:
  void (*before_)(int);
};

std::string end_text(const RankEnded& rank) {
  if (rank.stopped) return "it stopped answering, its process stands still (SIGSTOP)";
  if (rank.signal != 0)
    return fmt::format("killed (SIG{})",
                       sigabbrev_np(rank.signal) == nullptr ? "?" : sigabbrev_np(rank.signal));
  const std::size_t error = rank.errors.rfind("error: ");
  if (error == std::string::npos) return fmt::format("exit code {}", rank.code);
  return printable(rank.errors.substr(error + 7, rank.errors.find('\n', error) - error - 7), 300);
}

}  // namespace

RanksEnded launch_ranks(const std::vector<std::string>& words, int ranks, const RankOptions& options) {
  const HeldSignals signals;
  Group group(ranks, options);
  group.start(words, signals.before());
  const IgnoredPipe no_reader;
  return group.wait(signals);
}

void show_run_folder(const std::string& meeting_file, const fs::path& run_folder) {
  if (meeting_file.empty()) return;
  std::error_code code;
  fs::create_directory_symlink(fs::absolute(run_folder), fs::path(meeting_file).parent_path() / kRunLink,
                               code);
}

std::string first_failure_text(const RanksEnded& ended) {
  if (ended.first < 0) return "";
  const RankEnded& first = ended.ranks[static_cast<std::size_t>(ended.first)];
  const std::string where = first.status ? "in " + place_text(*first.status) : "before the ranks had met";
  std::vector<std::string> followed;
  for (const RankEnded& rank : ended.ranks) {
    if (rank.followed) followed.push_back(std::to_string(rank.rank));
  }
  const std::string rest = followed.empty() ? ""
                                            : fmt::format("; rank{} {} followed",
                                                          followed.size() == 1 ? "" : "s", joined(followed));
  return fmt::format("rank {} failed first, {}: {}{}", first.rank, where, end_text(first), rest);
}

}  // namespace isobar
