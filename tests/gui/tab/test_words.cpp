// Title, summary and words that can be selected: who is sent which, and when.
#include "support/catch.h"
#include "tab/bytes.h"
#include "tab/tabs.h"

using namespace isobar;

namespace {

struct Post {
  void greet(TabId tab) {
    tabs.came(tab);
    REQUIRE(tabs.said(tab, {.says = TabSays::hello, .version = 1, .width = 800, .height = 600}));
    words.greet(tab);
  }
  void hide(TabId tab) { REQUIRE(tabs.said(tab, {.says = TabSays::shown, .down = false})); }
  void show(TabId tab) { REQUIRE(tabs.said(tab, {.says = TabSays::shown, .down = true})); }
  /// A frame that no tab has drawn yet goes on its way to all that are shown.
  void draw() {
    TabFrame next;
    next.number = next.ground = ++number;
    tabs.deliver(std::make_shared<const TabFrame>(next), {}, [](auto&&...) {});
  }
  /// The kinds of what a tab is sent now.
  std::vector<TabHears> due(TabId tab) {
    std::vector<TabHears> out;
    words.deliver(tabs, [&](TabId to, const Tabs::Message& message) {
      if (to == tab) out.push_back(static_cast<TabHears>(message->front()));
      last = *message;
    });
    return out;
  }

  Tabs tabs;
  TabWords words;
  std::uint32_t number = 0;
  std::string last;
};

using Kinds = std::vector<TabHears>;

}  // namespace

TEST_CASE("A tab is sent title, summary and texts once, and again when they are others") {
  Post post;
  post.greet(1);
  CHECK(post.due(1).empty());
  post.words.take("a", "Loss 1.");
  post.words.take({{"line\n", {1, 2, 11, 22}, {4, 2, 11, 20}}});
  CHECK(post.due(1) == Kinds{TabHears::words, TabHears::texts});
  Bytes texts(std::string_view(post.last).substr(1));
  CHECK(texts.number(100) == 1);
  for (const std::int64_t wanted : {1, 2, 10, 20, 4, 2, 7, 18}) CHECK(texts.signed_number(1000) == wanted);
  CHECK(texts.words(100) == "line\n");
  CHECK(texts.at_end());
  CHECK(post.due(1).empty());
  post.words.take({{"line\n", {1, 2, 11, 22}, {4, 2, 11, 20}}});
  CHECK(post.due(1).empty());
  post.words.take({});
  CHECK(post.due(1) == Kinds{TabHears::texts});
  post.words.take("b", "Loss 1.");
  CHECK(post.due(1) == Kinds{TabHears::words});
}

TEST_CASE("A tab that just came is sent what others have") {
  Post post;
  post.greet(1);
  post.words.take("a", "Loss 1.");
  post.words.take({{"line\n", {}, {}}});
  post.due(1);
  post.tabs.came(2);
  CHECK(post.due(2).empty());  // it did not greet
  post.greet(2);
  CHECK(post.due(2) == Kinds{TabHears::words, TabHears::texts});
  post.words.forget(1);
  post.words.take({});
  CHECK(post.due(1).empty());
}

TEST_CASE("A hidden tab has its title, and texts when it is shown; a slow one is not sent text upon text") {
  Post post;
  post.greet(1);
  post.hide(1);
  post.words.take("a", "Loss 1.");
  post.words.take({{"line\n", {}, {}}});
  CHECK(post.due(1) == Kinds{TabHears::words});
  post.show(1);
  CHECK(post.due(1) == Kinds{TabHears::texts});
  for (int i = 0; i < 2; ++i) post.draw();
  post.words.take({{"other\n", {}, {}}});
  CHECK(post.due(1).empty());
  REQUIRE(post.tabs.said(1, {.says = TabSays::drawn, .frame = 2}));
  CHECK(post.due(1) == Kinds{TabHears::texts});
}
