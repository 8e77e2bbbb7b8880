// ./isobar bench gui --browser: what the window costs in a tab. The tab is this program, without a browser.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/bench_report.h"
#include "bench/make_runs.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/pattern.h"
#include "launch/child_process.h"
#include "support/temp_folder.h"
#include "tab/bytes.h"
#include "tab/messages.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

constexpr double kLong_s = 120;  // for what must come

[[noreturn]] void fail(const std::string& what) {
  throw Error(what, "bench gui --browser", "", Exit::failed);
}

struct Entry {
  int port = 0;
  std::string place, token;
};

/// One connection to the program.
class Tab {
 public:
  explicit Tab(int port) : file_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(file_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      fail("the program does not listen");
  }

  /// The head of the answer.
  std::string ask(const std::string& target, const std::string& headers) {
    write_all("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
    std::size_t end = 0;
    while ((end = left_.find("\r\n\r\n")) == std::string::npos) {
      if (!more(kLong_s)) fail("no answer");
    }
    std::string head = left_.substr(0, end);
    left_.erase(0, end + 4);
    return head;
  }

  void say(TabSays what, const std::function<void(std::string&)>& add) {
    std::string message(1, static_cast<char>(what));
    add(message);
    std::string frame = {static_cast<char>(0x82), static_cast<char>(0x80 | message.size()), 0, 0, 0, 0};
    write_all(frame + message);  // a mask of zeros changes nothing
  }

  /// The next message; "" where none came for so long.
  std::string hear(double seconds) {
    const std::int64_t end_us = steady_us() + static_cast<std::int64_t>(seconds * 1e6);
    while (true) {
      if (std::string message; take(message)) return message;
      if (!more(static_cast<double>(end_us - steady_us()) * 1e-6)) return "";
    }
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void write_all(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(file_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) fail("the connection is lost");
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  bool more(double seconds) {
    pollfd waits{file_.number(), POLLIN, 0};
    if (seconds < 0 || poll(&waits, 1, static_cast<int>(seconds * 1e3) + 1) <= 0) return false;
    char part[1 << 16];
    const ssize_t got = recv(file_.number(), part, sizeof part, 0);
    if (got <= 0) fail("the connection is lost");
    left_.append(part, static_cast<std::size_t>(got));
    bytes_ += static_cast<std::size_t>(got);
    return true;
  }
  bool take(std::string& message) {
    const auto byte = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(left_[i]));
    };
    if (left_.size() < 10 && (left_.size() < 2 || left_.size() < 2 + byte(1))) return false;
    const std::size_t wide = byte(1) == 126 ? 2 : byte(1) == 127 ? 8 : 0;
    std::size_t size = wide == 0 ? byte(1) : 0;
    for (std::size_t i = 0; i < wide; ++i) size = size << 8U | byte(2 + i);
    if (left_.size() < 2 + wide + size) return false;
    message = left_.substr(2 + wide, size);
    left_.erase(0, 2 + wide + size);
    return true;
  }

  FileDescriptor file_;
  std::string left_;
  std::size_t bytes_ = 0;
};

bool is_frame(const std::string& message) {
  return !message.empty() && message[0] == static_cast<char>(TabHears::frame);
}

/// What a page does; a frame's number is not read, so all are said to be drawn.
void answer(Tab& tab, const std::string& message) {
  if (is_frame(message)) tab.say(TabSays::drawn, [](std::string& out) { put_number(out, UINT32_MAX); });
  if (message == std::string(1, static_cast<char>(TabHears::beat)))
    tab.say(TabSays::alive, [](std::string&) {});
}

/// Until it was still for so long.
void settle(Tab& tab, double seconds) {
  for (std::string message; !(message = tab.hear(seconds)).empty();) answer(tab, message);
}

void point(Tab& tab, TabSays what, double x, double y, int down = 0) {
  tab.say(what, [&](std::string& out) {
    if (what == TabSays::button) out += {0, static_cast<char>(down), 0};
    put_signed(out, static_cast<std::int64_t>(x * 16));
    put_signed(out, static_cast<std::int64_t>(y * 16));
  });
}

Entry entry_of(const fs::path& log) {
  for (const std::int64_t end_us = steady_us() + 30'000'000; steady_us() < end_us;) {
    const std::string text = fs::exists(log) ? read_text_file(log, 100'000) : "";
    const auto found = matches_of(text, R"(http://127\.0\.0\.1:([0-9]+)/([0-9a-f]+)/\?token=([0-9a-f]+))");
    if (text.find("Ctrl-C") != std::string::npos && !found.empty())
      return {std::stoi(found[0][1]), found[0][2], found[0][3]};
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  fail("the program did not say where it is");
}

void enter(Tab& tab, const Entry& entry) {
  const std::string folder = "/" + entry.place + "/";
  const std::string head = Tab(entry.port).ask(folder + "?token=" + entry.token, "");
  const auto cookie = matches_of(head, "Set-Cookie: ([^;]+);");
  if (cookie.empty()) fail("no cookie");
  const std::string upgraded =
      tab.ask(folder + "socket",
              "Origin: http://localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: isobar.1\r\n"
              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nCookie: " +
                  cookie[0][1] + "\r\n");
  if (!upgraded.starts_with("HTTP/1.1 101")) fail("not let in: " + upgraded.substr(0, 40));
  tab.say(TabSays::hello, [](std::string& out) {
    for (const std::uint64_t value :
         {std::uint64_t{kTabVersion}, std::uint64_t{1440}, std::uint64_t{900}, std::uint64_t{256}})
      put_number(out, value);
  });
}

void drag(Tab& tab, const nlohmann::json& box, int moves, BenchRow& bytes, BenchRow& ms) {
  double x = box[2].get<double>() - 60;
  const double y = (box[1].get<double>() + box[3].get<double>()) / 2;
  point(tab, TabSays::move, x, y);
  settle(tab, 0.5);
  point(tab, TabSays::button, x, y, 1);
  settle(tab, 0.5);
  for (int i = 0; i < moves; ++i) {
    x += i % 100 < 50 ? -4 : 4;
    const std::int64_t begin_us = steady_us();
    point(tab, TabSays::move, x, y);
    std::string message;
    while (!is_frame(message = tab.hear(kLong_s))) {
      if (message.empty()) fail("no frame came of a drag");
      answer(tab, message);
    }
    ms.values.push_back(static_cast<double>(steady_us() - begin_us) * 1e-3);
    bytes.values.push_back(static_cast<double>(message.size()) * 1e-3);
    answer(tab, message);
    settle(tab, 0.1);  // what eases after it is not taken for the next
  }
  point(tab, TabSays::button, x, y, 0);
  settle(tab, 1);
}

double part_of(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

void measure(const TempFolder& folder, int steps, BenchReport& report) {
  make_runs(folder / "runs", 1, steps, [](int) {});
  const fs::path items = folder / "items.json", log = folder / "window.log";
  struct Ended : ChildProcess {
    using ChildProcess::ChildProcess;
    ~Ended() { send(SIGTERM); }
  } const child(
      {std::string(ISOBAR_BIN) + "/isobar-browser", "runs", "--panel", "watch", "--items", items.string()},
      folder.path(), log);
  const Entry entry = entry_of(log);
  Tab tab(entry.port);
  enter(tab, entry);
  settle(tab, 3);  // the run is read
  const auto boxes = nlohmann::json::parse(read_text_file(items, 10'000'000));
  if (!boxes.contains("throughput")) fail("the run is not shown");
  BenchRow bytes{"a frame while a plot of the longest run is dragged", "kB", {}, 60};
  BenchRow ms{"from the mouse to that frame on the socket", "ms", {}, 25};
  drag(tab, boxes["throughput"], report.quick() ? 30 : 300, bytes, ms);
  report.add(bytes);
  report.add({"the largest of these frames", "kB", {part_of(bytes.values, 1)}, 0});
  report.add(ms);
  report.add({"the same, 95 % of them are below", "ms", {part_of(ms.values, 0.95)}, 0});
  settle(tab, 5);
  const std::size_t before = tab.bytes();
  const double idle_s = report.quick() ? 5 : 60;
  for (const std::int64_t end_us = steady_us() + static_cast<std::int64_t>(idle_s * 1e6);
       steady_us() < end_us;)
    answer(tab, tab.hear(0.2));
  report.add({"bytes a minute while nothing happens",
              "B",
              {static_cast<double>(tab.bytes() - before) * 60 / idle_s},
              20});
}

int run(int argc, char** argv) {
  int steps = 1'000'000;
  bool in_browser = false;
  OptionParser parser("What the window costs in a tab of a browser", "./isobar bench gui --browser");
  BenchReport report("gui_tab", parser);
  parser.add("--long-steps", steps, "steps of the run").in_range(1000, 10'000'000);
  parser.group("");
  parser.flag("--browser", in_browser, "how ./isobar bench gui chose this program");
  if (!report.parse(argc, argv)) return 0;
  const TempFolder folder;
  report.begin();
  measure(folder, steps, report);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("isobar bench gui --browser", [&] { return run(argc, argv); });
}
