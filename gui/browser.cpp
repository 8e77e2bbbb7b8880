// The window in a tab of a browser: ./isobar gui --browser [RUNS_DIR...]. No display, no GLFW, no OpenGL; the
// loop that draws when there is something new and somebody looks.
#include <imgui.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>

#include "arguments.h"
#include "browser_address.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/standard_output.h"
#include "tab/input.h"
#include "tab/server.h"
#include "tab/tabs.h"

namespace isobar {
namespace {

constexpr int kFramesAfterEvent = 3;  // as of the window
constexpr double kPoll_s = 0.25;
constexpr double kFarewell_s = 2;          // for tabs to be told that it is over
constexpr std::uint16_t kSomePort = 8123;  // of the browser's side, where a socket listens here

struct BrowserOptions {
  std::uint16_t port = 0;          ///< 0 = a free one; with a socket, that of the printed address
  std::filesystem::path socket;    ///< "" = none; else this Unix socket listens, and no port
  std::vector<std::string> hosts;  ///< names by which a proxy knows this machine
  std::filesystem::path items;     ///< as WindowOptions has it, for tests
  double frames_per_s = 60;
  double beat_s = 20;  ///< between two signs of life to each tab
};

std::atomic<bool> stopped{false};  // by a signal

double now_s() { return static_cast<double>(steady_us()) * 1e-6; }

/// An ImGui context whose screen is the tab that leads.
class TabContext {
 public:
  TabContext() {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.ConfigFlags |= ImGuiConfigFlags_NavEnableKeyboard;
    io.ConfigWindowsMoveFromTitleBarOnly = true;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset | ImGuiBackendFlags_HasMouseCursors;
    map_keys();
  }
  ~TabContext() { ImGui::DestroyContext(); }
  TabContext(const TabContext&) = delete;
  TabContext& operator=(const TabContext&) = delete;
};

class Browser : public TabEvents {
 public:
  Browser(const AppOptions& app, const BrowserOptions& options, std::vector<std::string> hosts)
      : options_(options),
        server_(make_door(std::move(hosts)),
                {options.socket.empty() ? options.port : std::uint16_t{0}, options.socket}, *this),
        app_(with_visits(app), textures_, [this] { news_ = true, server_.wake(); }) {
    app_.ui().keep_readable(true);
    ImGuiIO& io = ImGui::GetIO();
    io.ClipboardUserData = this;
    io.SetClipboardTextFn = [](void* self, const char* words) { static_cast<Browser*>(self)->copy(words); };
    io.GetClipboardTextFn = [](void* self) { return static_cast<Browser*>(self)->clipboard_.c_str(); };
  }

  App& app() { return app_; }
  const TabServer& server() const { return server_; }

  void came(TabId tab) override { tabs_.came(tab); }
  void left(TabId tab) override {
    if (tabs_.leads(tab)) input_.release_all();
    tabs_.left(tab);
    words_.forget(tab);
    frames_due_ = kFramesAfterEvent;
  }
  bool said(TabId tab, std::string_view bytes) override {
    const std::optional<TabMessage> message = read_message(bytes);
    if (!message) return false;
    const TabId before = tabs_.leader();
    if (!tabs_.said(tab, *message)) return false;
    if (tabs_.leader() != before) input_.release_all();
    if (message->says == TabSays::hello) {
      server_.send(tab, words_message(TabHears::proof, server_.door().proof));
      words_.greet(tab);
    }
    if (message->says == TabSays::drawn) deliver();
    if (message->says == TabSays::drawn || message->says == TabSays::alive) return true;
    frames_due_ = kFramesAfterEvent;
    const bool is_input = message->says >= TabSays::move && message->says <= TabSays::blur;
    if (is_input) ++heard_;
    return !is_input || !tabs_.leads(tab) || input_.add(*message);
  }

  void run() {
    while (!stopped) {
      if (app_.poll()) news_ = true;
      if (news_.exchange(false)) frames_due_ = std::max(1, frames_due_);
      if (now_s() > next_beat_s_) beat();
      tell_words();
      // What a person did is shown at once; how often, the tab says by drawing. All else keeps to the rate.
      const double left_s = input_.is_empty() ? next_frame_s_ - now_s() : 0;
      const bool due = (frames_due_ > 0 || !input_.is_empty()) && tabs_.wants_frame();
      if (due && left_s <= 0) {
        draw();
        server_.serve(0);
        continue;
      }
      server_.serve(due ? left_s : kPoll_s);
      if (ImGui::GetIO().WantTextInput) frames_due_ = std::max(1, frames_due_);  // the cursor blinks
    }
    for (const TabId tab : tabs_.all())
      server_.close(tab, "The window was closed where it runs; runs go on.");
    const double end_s = now_s() + kFarewell_s;
    while (!tabs_.all().empty() && now_s() < end_s) server_.serve(end_s - now_s());
  }

 private:
  AppOptions with_visits(AppOptions options) {
    options.visit = [this](const std::string& address) { tell(TabHears::visit, address); };
    return options;
  }

  void draw() {
    next_frame_s_ = now_s() + 1 / options_.frames_per_s;
    frames_due_ = std::max(0, frames_due_ - 1);
    ImGuiIO& io = ImGui::GetIO();
    const TabLayout& layout = tabs_.next_layout(input_.is_button_down());
    if (app_.prepare(layout.scale)) textures_.set_atlas(*io.Fonts);
    io.DisplaySize = {static_cast<float>(layout.width), static_cast<float>(layout.height)};
    io.DeltaTime = static_cast<float>(std::clamp(now_s() - drawn_s_, 0.001, 1.0));
    drawn_s_ = now_s();
    input_.apply();
    if (!input_.pasted().empty()) clipboard_ = input_.pasted();
    ImGui::NewFrame();
    app_.draw();
    ImGui::Render();
    keep_frame();
    words_.take(app_.ui().readable_rows());
    deliver();
    if (app_.ui().moving() || Ui::has_input_left()) frames_due_ = std::max(1, frames_due_);
    if (input_.is_empty() && frames_due_ == 0) shown_ = heard_;
    if (!options_.items.empty()) write_items(app_.ui(), shown_, options_.items);
  }

  void keep_frame() {
    const ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
    auto frame =
        std::make_shared<TabFrame>(take_frame(*ImGui::GetDrawData(), atlas.TexID, [](ImTextureID id) {
          return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(id));
        }));
    frame->number = ++number_;
    frame->ground = app_.ui().theme().ground;
    frame->cursor = ImGui::GetMouseCursor();
    frame->atlas = {atlas.TexWidth, atlas.TexHeight};
    newest_ = std::move(frame);
  }

  void deliver() {
    const auto send = [this](TabId tab, const Tabs::Message& message) { server_.send(tab, message); };
    words_.deliver(tabs_, send);
    if (newest_ != nullptr) tabs_.deliver(newest_, textures_.messages(), send);
  }
  /// Title and summary, also to tabs that are hidden.
  void tell_words() {
    const std::int64_t now_us = steady_us();
    if (tabs_.all().empty() || !pace_.is_due(now_us)) return;
    if (pace_.take(app_.page_words(), now_us)) words_.take(pace_.told().title, pace_.told().summary());
    words_.deliver(tabs_, [this](TabId tab, const Tabs::Message& message) { server_.send(tab, message); });
  }
  void tell(TabHears kind, std::string_view words) {
    if (tabs_.leader() != 0) server_.send(tabs_.leader(), words_message(kind, words));
  }
  void copy(const char* words) {
    clipboard_ = words;
    tell(TabHears::copied, clipboard_);
  }
  void beat() {
    next_beat_s_ = now_s() + options_.beat_s;
    for (const TabId tab : tabs_.all())
      server_.send(tab, std::make_shared<const std::string>(1, static_cast<char>(TabHears::beat)));
  }

  BrowserOptions options_;
  TabContext context_;
  TabTextures textures_;
  Tabs tabs_;
  TabInput input_;
  PageWordsPace pace_;
  TabWords words_;
  std::string clipboard_;
  std::atomic<bool> news_{false};
  int frames_due_ = kFramesAfterEvent;
  std::int64_t heard_ = 0, shown_ = 0;  ///< inputs of tabs; those whose frames are drawn
  std::shared_ptr<const TabFrame> newest_;
  std::uint32_t number_ = 0;
  double next_frame_s_ = 0, drawn_s_ = 0, next_beat_s_ = 0;
  TabServer server_;
  App app_;  // last: its threads tell of news at once
};

/// A signal ends the loop; one that was told to be ignored (nohup) stays ignored.
void end_by(int signal) {
  if (std::signal(signal, [](int) { stopped = true; }) == SIG_IGN) std::signal(signal, SIG_IGN);
}

/// Prints the address and runs until a signal ends it. Error (exit code 1) where it cannot listen, and where
/// the address cannot be printed.
int run_browser(const AppOptions& app_options, const BrowserOptions& options,
                const std::function<void(AppState&)>& begin_with) {
  const Surroundings here = surroundings();
  std::vector<std::string> hosts = options.hosts;
  if (!here.hub_url.empty()) hosts.push_back(host_of(here.hub_url));
  Browser browser(app_options, options, std::move(hosts));
  begin_with(browser.app().state());
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) end_by(signal);
  std::uint16_t port = browser.server().port();
  if (port == 0) port = options.port == 0 ? kSomePort : options.port;
  const std::string words =
      how_to_open(here, {port, options.socket, entry_of(browser.server().door()), options.hosts});
  std::fputs(words.c_str(), stdout);
  if (std::fflush(stdout) != 0) throw lost_output();  // nobody has the address
  browser.run();
  return 0;
}

int run_gui(int argc, char** argv) {
  BrowserOptions browser;
  int port = 0;
  bool in_browser = true;
  OptionParser parser("The window in a tab of your browser: open the address that it prints",
                      "./isobar gui --browser");
  Arguments arguments(parser);
  parser.add("--port", port, "port of 127.0.0.1; default: a free one. With --socket: that of the address")
      .in_range(1, 65535);
  parser.add("--socket", browser.socket,
             "a Unix socket instead of a port; its folder is made, and must be yours alone");
  parser.add("--host", browser.hosts,
             "name by which a proxy knows this machine, as the browser's address bar shows it; any number");
  parser.group("");
  parser.flag("--browser", in_browser, "how ./isobar gui chose this program");
  parser.add("--items", browser.items, "write the places of all widgets to this file (for tests)");
  parser.add("--beat", browser.beat_s, "seconds between two signs of life to each tab (for tests)")
      .in_range(0.1, 20);
  if (!parser.parse(
          argc, argv,
          {.where = "./isobar gui --browser", .hint = "./isobar gui --browser --help lists the options"}))
    return 0;
  for (std::string& host : browser.hosts) host = host_name(host);
  browser.port = static_cast<std::uint16_t>(port);
  AppOptions app = arguments.app_options();
  app.settings = settings_file();
  return run_browser(app, browser, [&](AppState& state) { arguments.begin(state); });
}

}  // namespace
}  // namespace isobar

int main(int argc, char** argv) {
  return isobar::guarded_main("isobar gui --browser", [&] { return isobar::run_gui(argc, argv); });
}
