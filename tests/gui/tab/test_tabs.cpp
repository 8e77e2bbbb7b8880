// Which tab leads, and what each is sent.
#include "gui/tab/decode.h"
#include "gui/tab/made_frames.h"
#include "support/catch.h"
#include "support/set_clock.h"
#include "tab/tabs.h"

using namespace isobar;

namespace {

/// Tabs whose messages are kept, and a window that draws frames of numbers.
struct Screen {
  void greet(TabId tab, int width = 1440, int height = 900, float scale = 1) {
    tabs.came(tab);
    REQUIRE(tabs.said(
        tab, {.says = TabSays::hello, .version = 1, .width = width, .height = height, .scale = scale}));
  }
  bool say(TabId tab, TabMessage message) { return tabs.said(tab, message); }
  bool press(TabId tab) { return say(tab, {.says = TabSays::button, .down = true}); }
  void draw(bool changes = true) {
    TabFrame next = *frame;
    ++next.number;
    if (changes) next.ground = next.number;
    frame = std::make_shared<const TabFrame>(next);
    deliver();
  }
  void deliver() {
    tabs.deliver(frame, textures,
                 [&](TabId tab, Tabs::Message message) { sent[tab].push_back(std::move(message)); });
  }
  std::size_t count(TabId tab, TabHears kind = TabHears::frame) {
    return static_cast<std::size_t>(std::count_if(sent[tab].begin(), sent[tab].end(), [&](auto& one) {
      return one->front() == static_cast<char>(kind);
    }));
  }
  void drew(TabId tab, std::uint32_t number) { REQUIRE(say(tab, {.says = TabSays::drawn, .frame = number})); }
  void drew(TabId tab) { drew(tab, frame->number); }
  int width() { return tabs.next_layout(false).width; }

  Tabs tabs;
  std::shared_ptr<const TabFrame> frame = std::make_shared<const TabFrame>(MadeFrames(1).first(10));
  std::map<std::uint32_t, Tabs::Message> textures;
  std::map<TabId, std::vector<Tabs::Message>> sent;
};

Tabs::Message picture_message(std::uint32_t number) { return texture_message(number, 1, 1, false, "rgba"); }

}  // namespace

TEST_CASE("A tab greets once, in our version, before it says anything else") {
  Screen screen;
  CHECK_FALSE(screen.say(1, {.says = TabSays::alive}));  // nobody
  screen.tabs.came(1);
  CHECK_FALSE(screen.say(1, {.says = TabSays::alive}));
  CHECK_FALSE(screen.say(1, {.says = TabSays::hello, .version = 2}));
  screen.greet(1);
  CHECK(screen.say(1, {.says = TabSays::alive}));
  CHECK_FALSE(screen.say(1, {.says = TabSays::hello, .version = 1}));
  screen.tabs.came(2);
  screen.draw();
  CHECK(screen.count(1) == 1);
  CHECK(screen.sent[2].empty());
}

TEST_CASE("A tab gets the whole first, then what changed, and nothing where nothing did") {
  Screen screen;
  CHECK_FALSE(screen.tabs.wants_frame());
  screen.greet(1);
  CHECK(screen.tabs.wants_frame());
  TabFrame page;
  for (int i = 0; i < 5; ++i) {
    screen.draw();
    screen.drew(1);
    const TabFrame* const before = i == 0 ? nullptr : &page;
    page = decode_message(*screen.sent[1].back(), before);
    CHECK(page.number == screen.frame->number);
    CHECK(page.pieces.size() == 10);
    if (i > 0) CHECK(screen.sent[1].back()->size() < screen.sent[1].front()->size() / 10);
  }
  for (int i = 0; i < 5; ++i) screen.draw(/*changes=*/false);
  CHECK(screen.count(1) == 5);
  screen.draw();
  page = decode_message(*screen.sent[1].back(), &page);  // upon the last that was sent
  CHECK(page.number == screen.frame->number);
}

TEST_CASE("A hidden tab gets nothing; when it is shown, what changed since") {
  Screen screen;
  screen.greet(1);
  screen.draw();
  const TabFrame page = decode_message(*screen.sent[1].back(), nullptr);
  CHECK(screen.say(1, {.says = TabSays::shown, .down = false}));
  CHECK_FALSE(screen.tabs.wants_frame());
  for (int i = 0; i < 10; ++i) screen.draw();
  screen.textures[1] = picture_message(1);
  screen.deliver();
  CHECK(screen.sent[1].size() == 1);
  CHECK(screen.say(1, {.says = TabSays::shown, .down = true}));
  CHECK(screen.tabs.wants_frame());
  screen.draw();
  CHECK(screen.count(1) == 2);
  CHECK(decode_message(*screen.sent[1].back(), &page).number == screen.frame->number);
  // It draws nothing while it is hidden, so what it had is no reason to wait.
  screen.draw();
  CHECK_FALSE(screen.tabs.wants_frame());
  for (const bool shown : {false, true}) CHECK(screen.say(1, {.says = TabSays::shown, .down = shown}));
  CHECK(screen.tabs.wants_frame());
}

TEST_CASE("A slow tab has two frames at most, then the newest") {
  Screen screen;
  screen.greet(1);
  screen.greet(2);
  for (int i = 0; i < 6; ++i) {
    screen.draw();
    screen.drew(2);
  }
  CHECK(screen.count(1) == 2);
  CHECK(screen.count(2) == 6);
  CHECK(screen.tabs.wants_frame());  // for the other
  screen.drew(1, 3);                 // it had 2 and 3
  screen.deliver();
  CHECK(screen.count(1) == 3);
  TabFrame page = decode_message(*screen.sent[1][0], nullptr);
  for (const std::size_t i : {1U, 2U}) page = decode_message(*screen.sent[1][i], &page);
  CHECK(page.number == screen.frame->number);
  screen.tabs.left(2);
  screen.draw();
  CHECK_FALSE(screen.tabs.wants_frame());
}

TEST_CASE("Twenty tabs that have the same are sent the same bytes") {
  Screen screen;
  for (TabId tab = 1; tab <= 20; ++tab) screen.greet(tab);
  for (int i = 0; i < 3; ++i) {
    screen.draw();
    for (TabId tab = 1; tab <= 20; ++tab) screen.drew(tab);
  }
  for (TabId tab = 1; tab <= 20; ++tab) {
    REQUIRE(screen.sent[tab].size() == 3);
    CHECK(screen.sent[tab] == screen.sent[1]);  // the messages themselves, not only their bytes
  }
  screen.greet(21);
  screen.draw();
  CHECK(screen.sent[20][3] == screen.sent[1][3]);
  CHECK(screen.sent[21][0]->size() > screen.sent[1][3]->size());
}

TEST_CASE("The window has the size of the tab that leads: the first, then who presses, types or turns") {
  Screen screen;
  CHECK(screen.width() == 1440);
  screen.greet(1, 1000, 700);
  screen.greet(2, 2000, 1400, 2);
  CHECK(screen.tabs.leads(1));
  CHECK(screen.width() == 1000);
  CHECK(screen.say(2, {.says = TabSays::move, .x = 1, .y = 1}));
  CHECK(screen.say(2, {.says = TabSays::button, .down = false}));
  CHECK(screen.say(2, {.says = TabSays::key, .code = 'A', .down = false}));
  CHECK(screen.tabs.leads(1));
  for (const TabSays says : {TabSays::button, TabSays::key, TabSays::wheel, TabSays::text, TabSays::paste}) {
    CHECK(screen.say(2, {.says = says, .down = true}));
    CHECK(screen.tabs.leads(2));
    CHECK(screen.tabs.next_layout(false) == TabLayout{2000, 1400, 2});
    CHECK(screen.press(1));
    CHECK(screen.tabs.leads(1));
  }
  CHECK(screen.say(2, {.says = TabSays::size, .width = 3000, .height = 1400, .scale = 2}));
  CHECK(screen.width() == 1000);
  CHECK(screen.press(2));
  CHECK(screen.width() == 3000);
}

TEST_CASE("When the tab that leads goes or is hidden, another that is shown leads") {
  Screen screen;
  screen.greet(1, 1000, 700);
  screen.greet(2, 1100, 700);
  screen.greet(3, 1200, 700);
  CHECK(screen.say(2, {.says = TabSays::shown, .down = false}));
  screen.tabs.left(1);
  CHECK(screen.tabs.leads(3));
  CHECK(screen.width() == 1200);
  CHECK(screen.say(3, {.says = TabSays::shown, .down = false}));
  CHECK(screen.say(2, {.says = TabSays::shown, .down = true}));
  CHECK(screen.tabs.leads(2));
  screen.tabs.left(2);
  screen.tabs.left(3);
  CHECK(screen.tabs.leader() == 0);
  CHECK(screen.width() == 1100);  // as it was
  CHECK_FALSE(screen.tabs.wants_frame());
}

TEST_CASE("A size that no window has is the nearest that it has") {
  Screen screen;
  screen.greet(1, 0, 0, 0);
  CHECK(screen.tabs.next_layout(false) == TabLayout{320, 320, 0.5F});
  CHECK(screen.say(1, {.says = TabSays::size, .width = 1000, .height = 700, .scale = 2}));
  CHECK(screen.tabs.next_layout(false) == TabLayout{1280, 896, 2});  // of the same shape
  CHECK(screen.say(1, {.says = TabSays::size, .width = 420, .height = 840, .scale = 1}));
  CHECK(screen.tabs.next_layout(false) == TabLayout{640, 1280, 1});
  CHECK(screen.say(1, {.says = TabSays::size, .width = 16384, .height = 16384, .scale = 8}));
  CHECK(screen.tabs.next_layout(false) == TabLayout{7680, 4320, 4});
}

TEST_CASE("While a button is held the window keeps its size") {
  Screen screen;
  screen.greet(1, 1000, 700);
  CHECK(screen.tabs.next_layout(false).width == 1000);
  CHECK(screen.say(1, {.says = TabSays::size, .width = 1300, .height = 700, .scale = 1}));
  CHECK(screen.tabs.next_layout(true).width == 1000);
  CHECK(screen.tabs.next_layout(false).width == 1300);
}

TEST_CASE("Who asks for all of it again gets all of it, but not twice within 5 s") {
  SetClock clock;
  Screen screen;
  screen.textures[0] = picture_message(0);
  screen.greet(1);
  for (int i = 0; i < 3; ++i) {
    screen.draw();
    screen.drew(1);
  }
  REQUIRE(screen.count(1, TabHears::texture) == 1);
  CHECK(screen.say(1, {.says = TabSays::again}));
  screen.deliver();
  CHECK(screen.count(1, TabHears::texture) == 2);
  CHECK(decode_message(*screen.sent[1].back(), nullptr).number == screen.frame->number);
  clock.advance_us(4'999'999);
  CHECK_FALSE(screen.say(1, {.says = TabSays::again}));
  clock.advance_us(1);
  CHECK(screen.say(1, {.says = TabSays::again}));
}

TEST_CASE("Textures come before the frame that shows them, once; what is gone is forgotten") {
  Screen screen;
  screen.textures[0] = picture_message(0);
  screen.textures[5] = picture_message(5);
  screen.greet(1);
  screen.draw();
  REQUIRE(screen.sent[1].size() == 3);
  CHECK(screen.sent[1][0] == screen.textures[0]);
  CHECK(screen.sent[1][1] == screen.textures[5]);
  screen.drew(1);
  screen.draw();
  CHECK(screen.sent[1].size() == 4);
  screen.drew(1);
  screen.textures.erase(5);
  screen.textures[0] = picture_message(0);  // new fonts
  screen.draw();
  REQUIRE(screen.sent[1].size() == 7);
  CHECK(screen.sent[1][4] == screen.textures[0]);
  CHECK(*screen.sent[1][5] == "\x03\x05");
}

TEST_CASE("A texture says its number, its size and what its pixels are") {
  const Tabs::Message message = texture_message(300, 2, 3, true, "abcdef");
  Bytes bytes(*message);
  CHECK(bytes.number(255) == 2);
  CHECK(bytes.number(1000) == 300);
  CHECK(bytes.number(10) == 2);
  CHECK(bytes.number(10) == 3);
  CHECK(bytes.number(1) == 1);
  CHECK(inflated(std::string_view(*message).substr(6)) == "abcdef");
  CHECK(*words_message(TabHears::copied, "yes") == "\x05\x03yes");
}

TEST_CASE("Sixteen pictures are kept, and those that are used longest") {
  TabTextures textures;
  const auto picture = [](std::uint8_t shade) {
    return std::make_shared<const Picture>(Picture{1, 1, std::vector<std::uint8_t>(4, shade)});
  };
  const auto first = picture(0);
  const ImTextureID id = textures.texture(first);
  CHECK(textures.texture(first) == id);
  CHECK(textures.messages().size() == 1);
  for (int i = 1; i < 100; ++i) {
    textures.texture(picture(static_cast<std::uint8_t>(i)));
    CHECK(textures.texture(first) == id);
  }
  CHECK(textures.messages().size() == 16);
  CHECK(textures.picture_of(id) == first.get());
  const auto gone = std::make_shared<const Picture>(*first);
  const ImTextureID other = textures.texture(gone);
  for (int i = 0; i < 16; ++i) textures.texture(picture(1));
  CHECK(textures.picture_of(other) == nullptr);
}
