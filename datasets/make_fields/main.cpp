// Makes the embedded data set. It takes its name only when it is complete; what an interrupted one left is
// removed.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/option_parser.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/live_terminal.h"
#include "core/text.h"
#include "make_fields/make_fields.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

volatile std::sig_atomic_t stop_signal = 0;

struct Options {
  FieldsRequest request;
  bool force = false;
};

void parse_grid(const std::string& text, FieldsRequest& request) {
  const char* const end = text.data() + text.size();
  const auto rows = std::from_chars(text.data(), end, request.rows);
  const bool middle = rows.ec == std::errc() && rows.ptr != end && *rows.ptr == 'x';
  const auto columns = middle ? std::from_chars(rows.ptr + 1, end, request.columns) : rows;
  if (!middle || columns.ec != std::errc() || columns.ptr != end) {
    throw Error("\"" + printable(text, 40) + "\" is not a grid", "--grid", "ROWSxCOLUMNS, such as 72x144");
  }
}

/// False when only help was wanted.
bool parse(int argc, char** argv, Options& options) {
  OptionParser app("Makes the embedded data set: synthetic weather in the layout of the ERA5 tutorial data.",
                   "./isobar data make");
  std::string grid = "72x144";
  fs::path folder;
  std::int64_t seed = 1;
  app.add("--grid", grid, "rows x columns, multiples of 8; default 72x144");
  app.add("--samples", options.request.samples,
          "training records; valid and test get 3/16 of it; default 512");
  app.add("--out", folder, "folder of the data set; default: the embedded set of the grid");
  app.add("--seed", seed, "of the first noise; another seed is another weather; default 1");
  app.flag("--force", options.force, "make it again where one is");
  if (!app.parse(argc, argv)) return false;
  parse_grid(grid, options.request);
  check_request(options.request);
  options.request.seed = static_cast<std::uint64_t>(seed);
  options.request.folder =
      folder.empty() ? embedded_data_folder(options.request.rows, options.request.columns) : folder;
  std::vector<std::string> typed;
  for (int i = 0; i < argc; ++i) typed.push_back(i == 0 ? "make_fields" : shell_quoted(argv[i]));
  options.request.command = printable(joined(typed, " "), 1000);
  return true;
}

void check_space(const fs::path& folder, std::uint64_t needed) {
  std::error_code code;
  const fs::space_info space = fs::space(folder, code);
  if (!code && space.available < needed + 50'000'000) {
    throw Error(fmt::format("the data set needs {} and 50 MB to spare, {} are free", human_bytes(needed),
                            human_bytes(space.available)),
                folder.string(), "free some space, or name another folder with --out or ISOBAR_PREFIX",
                Exit::failed);
  }
}

/// A file that no data set of ours holds, "" without one. What is being written ends in ".part-4711".
std::string foreign_file(const fs::path& folder) {
  const std::vector<std::string> own = files_of_set();
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.symlink_status().type() == fs::file_type::directory) continue;
    const std::string name = entry.path().lexically_relative(folder).string();
    if (std::find(own.begin(), own.end(), name.substr(0, name.find(".part-"))) == own.end())
      return printable(name);
  }
  return "";
}

/// Folders that runs of this program left when they were killed: <name>.part-<pid> of a process that is gone.
void remove_leftovers(const fs::path& folder) {
  const std::string start = folder.filename().string() + ".part-";
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.parent_path())) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(start, 0) != 0) continue;
    int pid = 0;
    const auto parsed = std::from_chars(name.data() + start.size(), name.data() + name.size(), pid);
    if (parsed.ec == std::errc() && pid > 0 && kill(pid, 0) != 0 &&
        entry.symlink_status().type() == fs::file_type::directory && foreign_file(entry.path()).empty())
      fs::remove_all(entry.path());
  }
}

class Progress {
 public:
  bool operator()(std::int64_t done, std::int64_t all) {
    const std::int64_t now_us = steady_us();
    const std::int64_t percent = done * 100 / all;
    if (terminal_ && (now_us - shown_us_ > 100'000 || done == all)) {
      const double left = static_cast<double>(now_us - begin_us_) * 1e-6 * static_cast<double>(all - done) /
                          static_cast<double>(done);
      std::printf("\r\x1b[K  data  %3ld %%  %ld of %ld records  %s left", percent, done, all,
                  human_seconds(left).c_str());
      if (done == all) std::printf("\n");
      std::fflush(stdout);
      shown_us_ = now_us;
    } else if (!terminal_ && percent / 20 > shown_percent_ / 20) {
      std::printf("  data  %3ld %%  %ld of %ld records\n", percent, done, all);
      std::fflush(stdout);
      shown_percent_ = percent;
    }
    return stop_signal == 0;
  }

 private:
  bool terminal_ = is_live_terminal(STDOUT_FILENO);
  std::int64_t begin_us_ = steady_us();
  std::int64_t shown_us_ = 0;
  std::int64_t shown_percent_ = 0;
};

void print_summary(const std::vector<ChannelSummary>& summary) {
  std::printf("\n  channel  unit           mean        spread   change in 6 h / spread\n");
  for (const ChannelSummary& channel : summary) {
    std::printf("  %-8s %-7s %12.6g %13.4g   %.3f\n", channel.name.c_str(), channel.unit.c_str(),
                channel.mean, channel.std, channel.persistence_rmse);
  }
}

/// Puts the finished folder in place of nothing, or of the one it remakes. False where another program has
/// put one there meanwhile, which may be read already: that one stays.
bool put_in_place(const fs::path& part, const fs::path& folder, bool remakes) {
  const fs::path old = folder.string() + fmt::format(".part-{}-old", getpid());
  std::error_code code;
  if (remakes) fs::rename(folder, old);
  fs::rename(part, folder, code);
  const bool is_ours = !code;
  if (!is_ours && !fs::exists(folder / "dataset.toml"))
    throw system_error("cannot put the data set in place", folder.string(), code.value());
  for (const fs::path& left : {old, part}) fs::remove_all(left, code);
  return is_ours;
}

int make(const Options& options) {
  const fs::path folder = fs::absolute(options.request.folder).lexically_normal();
  if (fs::exists(folder / "dataset.toml") && !options.force) {
    std::printf("the data set is there already: %s\n  (--force makes it again)\n", folder.c_str());
    return 0;
  }
  if (fs::exists(folder) && !fs::exists(folder / "dataset.toml") &&
      !(fs::is_directory(folder) && fs::is_empty(folder))) {
    throw Error("the folder holds something that is no data set of ours", folder.string(),
                "name another with --out; nothing is overwritten");
  }
  if (fs::exists(folder)) {
    if (const std::string foreign = foreign_file(folder); !foreign.empty())
      throw Error("the data set holds a file that was not made with it: " + foreign, folder.string(),
                  "move it away, and the data set is made again");
  }
  const bool remakes = fs::exists(folder / "dataset.toml");
  std::error_code code;
  fs::create_directories(folder.parent_path(), code);
  if (code) throw system_error("cannot make the folder", folder.parent_path().string(), code.value());
  remove_leftovers(folder);
  const std::uint64_t needed = bytes_needed(options.request);
  const fs::path part = folder.string() + fmt::format(".part-{}", getpid());
  fs::create_directory(part, code);
  if (code) throw system_error("cannot make the folder", part.string(), code.value());
  FieldsRequest request = options.request;
  request.folder = part;
  const std::int64_t begin_us = steady_us();
  std::vector<ChannelSummary> summary;
  try {
    check_space(folder.parent_path(), needed);
    std::printf("making synthetic weather: %ld training records of 20 x %ld x %ld, %s in all, in %s\n",
                options.request.samples, options.request.rows, options.request.columns,
                human_bytes(needed).c_str(), folder.c_str());
    summary = make_fields(request, Progress());
    if (!put_in_place(part, folder, remakes)) {
      std::printf("another program has made the data set meanwhile, and it is taken: %s\n", folder.c_str());
      return 0;
    }
  } catch (const Stopped&) {
    fs::remove_all(part, code);
    std::fprintf(stderr, "\nstopped; nothing was kept\n");
    return 128 + stop_signal;
  } catch (...) {
    fs::remove_all(part, code);
    throw;
  }
  print_summary(summary);
  std::printf("\nmade %s in %s\n", folder.c_str(),
              human_seconds(static_cast<double>(steady_us() - begin_us) * 1e-6).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, [](int number) { stop_signal = number; });
  std::signal(SIGTERM, [](int number) { stop_signal = number; });
  std::signal(SIGXFSZ, SIG_IGN);
  return guarded_main("make_fields", [&] {
    Options options;
    return parse(argc, argv, options) ? make(options) : 0;
  });
}
