// What happened between two frames reaches ImGui, in the order in which it happened.
#include <imgui.h>

#include "gui/headless.h"
#include "support/catch.h"
#include "tab/input.h"

using namespace isobar;

namespace {

/// A window of a button and a field, and what it saw.
struct Desk {
  Desk() {
    ImGui::GetIO().Fonts->Build();
    for (int i = 0; i < 3; ++i) frame();  // a window is there from its second or third on
  }

  void frame() {
    input.apply();
    if (!input.pasted().empty()) ImGui::SetClipboardText(input.pasted().c_str());
    ImGui::NewFrame();
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({400, 300});
    ImGui::Begin("desk", nullptr, ImGuiWindowFlags_NoDecoration);
    ImGui::SetCursorPos({10, 10});
    clicks += ImGui::Button("button", {100, 30}) ? 1 : 0;
    ImGui::SetCursorPos({10, 50});
    ImGui::InputText("field", field, sizeof field);
    ImGui::End();
    ++frames;
    if (ImGui::GetIO().MouseWheel != 0) wheels.push_back({ImGui::GetMousePos().x, ImGui::GetIO().MouseWheel});
    for (int button = 0; button < 5; ++button) presses += ImGui::IsMouseClicked(button) ? 1 : 0;
    doubles += ImGui::IsMouseDoubleClicked(0) ? 1 : 0;
    ImGui::Render();
  }
  void run() {
    do frame();
    while (!input.is_empty());
  }
  void add(const TabMessage& message) { REQUIRE(input.add(message)); }
  void button(float x, float y, bool down, int which = 0) {
    add({.says = TabSays::button, .x = x, .y = y, .code = which, .down = down});
  }
  void key(int code, bool control = false) {
    for (const bool down : {true, false})
      add({.says = TabSays::key, .code = code, .down = down, .control = control && down});
  }
  /// As the page sends a letter that is typed.
  void letter(char c) {
    const int code = c - 'a' + 'A';
    add({.says = TabSays::key, .code = code, .down = true});
    add({.says = TabSays::text, .words = std::string(1, c)});
    add({.says = TabSays::key, .code = code, .down = false});
  }
  void focus() {
    run();
    button(60, 60, true);
    button(60, 60, false);
    run();
    run();
  }

  HeadlessContext context{400, 300};
  TabInput input;
  char field[64] = "";
  int frames = 0, clicks = 0, presses = 0, doubles = 0;
  std::vector<std::pair<float, float>> wheels;  ///< where, how far
};

constexpr int kLeft = 263, kBackspace = 259;

}  // namespace

TEST_CASE("A click that began and ended between two frames is a click") {
  Desk desk;
  desk.run();
  desk.button(50, 20, true);
  desk.button(50, 20, false);
  desk.run();
  CHECK(desk.clicks == 1);
  for (int i = 0; i < 2; ++i) {
    desk.button(50, 20, true);
    desk.button(50, 20, false);
  }
  desk.run();
  CHECK(desk.clicks == 3);
  CHECK(desk.doubles == 1);
}

TEST_CASE("A press is where the mouse was then, not where it went before the frame") {
  Desk desk;
  desk.run();
  desk.button(50, 20, true);
  desk.add({.says = TabSays::move, .x = 300, .y = 200});
  desk.frame();
  CHECK(ImGui::GetIO().MouseClickedPos[0].x == 50);
  CHECK(ImGui::GetMousePos().x == 50);
  desk.frame();
  CHECK(ImGui::GetMousePos().x == 300);
  desk.button(300, 200, false);
  desk.run();
  CHECK(desk.clicks == 0);  // let go beside it
  // Of two buttons at one place one frame is enough.
  const int before = desk.frames;
  desk.button(50, 20, true, 0);
  desk.button(50, 20, true, 1);
  desk.run();
  CHECK(desk.frames == before + 1);
  CHECK(desk.presses == 3);
}

TEST_CASE("The wheel turns where the mouse was, and turns at one place add up") {
  Desk desk;
  desk.add({.says = TabSays::wheel, .x = 50, .y = 20, .wheel_y = 1});
  desk.add({.says = TabSays::wheel, .x = 50, .y = 20, .wheel_y = 0.5F});
  desk.add({.says = TabSays::wheel, .x = 90, .y = 20, .wheel_y = -1});
  desk.add({.says = TabSays::move, .x = 200, .y = 200});
  desk.run();
  CHECK(desk.wheels == std::vector<std::pair<float, float>>{{50, 1.5F}, {90, -1}});
  desk.button(60, 60, true);
  desk.add({.says = TabSays::wheel, .x = 300, .y = 20, .wheel_y = 1});
  desk.frame();
  CHECK(ImGui::GetIO().MouseClickedPos[0].x == 60);
}

TEST_CASE("Ten keys at once are ten letters, in as many frames") {
  Desk desk;
  desk.focus();
  const int before = desk.frames;
  for (const char c : std::string("abcdefghij")) desk.letter(c);
  desk.run();
  CHECK(std::string(desk.field) == "abcdefghij");
  CHECK(desk.frames - before <= 11);
}

TEST_CASE("Keys that move or take away and letters keep their order") {
  Desk desk;
  desk.focus();
  desk.letter('a');
  desk.letter('b');
  desk.key(kLeft);
  desk.letter('x');
  desk.key(kLeft);
  desk.key(kBackspace);
  desk.letter('y');
  desk.add({.says = TabSays::text, .words = "\xc3\xa9"});
  desk.run();
  desk.run();
  CHECK(std::string(desk.field) == "y\xc3\xa9xb");
  // The key goes up after the letter that follows it.
  desk.add({.says = TabSays::key, .code = kLeft, .down = true});
  desk.add({.says = TabSays::text, .words = "w"});
  desk.add({.says = TabSays::key, .code = kLeft, .down = false});
  desk.run();
  desk.run();
  CHECK(std::string(desk.field) == "yw\xc3\xa9xb");
  desk.key('A', true);
  desk.letter('z');
  desk.run();
  desk.run();
  CHECK(std::string(desk.field) == "z");
}

TEST_CASE("A key pressed twice between two frames is pressed twice") {
  Desk desk;
  desk.focus();
  for (int i = 0; i < 3; ++i) desk.letter('a');
  for (int i = 0; i < 2; ++i) desk.key(kBackspace);
  desk.run();
  desk.run();
  CHECK(std::string(desk.field) == "a");
}

TEST_CASE("What is pasted is the clipboard when its key comes") {
  Desk desk;
  desk.focus();
  desk.letter('a');
  desk.add({.says = TabSays::paste, .words = "one "});
  desk.add({.says = TabSays::paste, .words = "two"});
  desk.letter('b');
  desk.run();
  desk.run();
  CHECK(std::string(desk.field) == "aone twob");
  CHECK_FALSE(ImGui::GetIO().KeyCtrl);
}

TEST_CASE("When the page loses the keyboard nothing is held, and what comes after it counts") {
  Desk desk;
  desk.run();
  desk.button(200, 200, true);
  desk.add({.says = TabSays::key, .code = 'S', .down = true, .shift = true, .control = true});
  desk.run();
  CHECK(ImGui::IsMouseDown(0));
  CHECK(ImGui::GetIO().KeyShift);
  CHECK(desk.input.is_button_down());
  desk.add({.says = TabSays::blur});
  desk.button(50, 20, true);
  desk.button(50, 20, false);
  desk.frame();
  CHECK_FALSE(ImGui::IsMouseDown(0));
  CHECK_FALSE(ImGui::GetIO().KeyShift);
  CHECK_FALSE(ImGui::GetIO().KeyCtrl);
  desk.run();
  CHECK(desk.clicks == 1);
  CHECK_FALSE(desk.input.is_button_down());
}

TEST_CASE("When another tab takes over nothing is held and nothing waits") {
  Desk desk;
  desk.run();
  desk.button(200, 200, true);
  CHECK(desk.input.is_button_down());  // before its frame, too
  desk.frame();
  desk.button(50, 20, false);
  desk.letter('a');
  desk.input.release_all();
  CHECK(desk.input.is_empty());
  CHECK_FALSE(desk.input.is_button_down());
  desk.frame();
  CHECK_FALSE(ImGui::IsMouseDown(0));
}

TEST_CASE("The mouse that left the page is nowhere") {
  Desk desk;
  desk.add({.says = TabSays::move, .x = 50, .y = 20});
  desk.run();
  CHECK(ImGui::IsMousePosValid());
  desk.add({.says = TabSays::leave});
  desk.run();
  CHECK_FALSE(ImGui::IsMousePosValid());
}

TEST_CASE("Moves in a row are one; a thousand other things that wait are too many") {
  Desk desk;
  for (int i = 0; i < 5000; ++i) desk.add({.says = TabSays::move, .x = static_cast<float>(i), .y = 0});
  desk.frame();
  CHECK(ImGui::GetMousePos().x == 4999);
  for (int i = 0; i < 999; ++i) desk.button(1, 1, i % 2 == 0);
  CHECK(desk.input.add({.says = TabSays::leave}));
  CHECK_FALSE(desk.input.add({.says = TabSays::leave}));
  desk.frame();
  CHECK(ImGui::GetMousePos().x == 1);
  CHECK(desk.input.add({.says = TabSays::leave}));
}
