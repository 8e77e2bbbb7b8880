// What tabs say is read strictly: what is not exactly a message is refused whole.
#include "gui/tab/say.h"
#include "support/catch.h"

using namespace isobar;

namespace {

const std::vector<TabMessage> kOneOfEach = {
    {.says = TabSays::hello, .version = 1, .width = 1440, .height = 900, .scale = 1.25F},
    {.says = TabSays::size, .width = 800, .height = 16384, .scale = 8},
    {.says = TabSays::shown, .down = true},
    {.says = TabSays::drawn, .frame = 0xffffffff},
    {.says = TabSays::move, .x = 100.5F, .y = -3.0625F},
    {.says = TabSays::leave},
    {.says = TabSays::button, .x = 65536, .y = -65536, .code = 4, .down = true, .shift = true, .alt = true},
    {.says = TabSays::wheel, .x = 5, .y = 6, .wheel_x = -0.25F, .wheel_y = 100, .control = true},
    {.says = TabSays::key, .code = 348, .down = true, .control = true},
    {.says = TabSays::text, .words = "h\xc3\xb6her \xf0\x9f\x8c\x8d"},
    {.says = TabSays::paste, .words = "two\nlines"},
    {.says = TabSays::blur},
    {.says = TabSays::alive},
    {.says = TabSays::again}};

bool same(const TabMessage& a, const TabMessage& b) {
  return a.says == b.says && a.version == b.version && a.width == b.width && a.height == b.height &&
         a.scale == b.scale && a.frame == b.frame && a.x == b.x && a.y == b.y && a.wheel_x == b.wheel_x &&
         a.wheel_y == b.wheel_y && a.code == b.code && a.down == b.down && a.shift == b.shift &&
         a.control == b.control && a.alt == b.alt && a.words == b.words;
}

std::string bytes_of(TabSays says, std::initializer_list<std::uint64_t> numbers) {
  std::string out(1, static_cast<char>(says));
  for (const std::uint64_t number : numbers) put_number(out, number);
  return out;
}

bool is_message(const std::string& bytes) { return read_message(bytes).has_value(); }

}  // namespace

TEST_CASE("Each message is read as it was said; a byte too few or too many is none") {
  for (const TabMessage& message : kOneOfEach) {
    const std::string bytes = said_bytes(message);
    INFO("kind " << static_cast<int>(message.says));
    const auto read = read_message(bytes);
    REQUIRE(read);
    CHECK(same(*read, message));
    for (std::size_t size = 0; size < bytes.size(); ++size) CHECK_FALSE(is_message(bytes.substr(0, size)));
    CHECK_FALSE(is_message(bytes + '\0'));
  }
}

TEST_CASE("Kinds that no tab has are refused") {
  CHECK_FALSE(is_message(""));
  CHECK(is_message({3, 1}));
  CHECK_FALSE(is_message({3, '\x81', 0}));  // longer than it need be
  for (int kind = 0; kind < 256; ++kind) {
    const std::string bytes(1, static_cast<char>(kind));
    const bool known = kind == 6 || kind == 12 || kind == 13 || kind == 14;  // those of no content
    CHECK(is_message(bytes) == known);
  }
}

TEST_CASE("Values out of range are refused") {
  const std::uint64_t far = 2 * 16 * 65536, notches = 2 * 100 * 100;  // of a signed number
  using enum TabSays;
  for (const auto& [good, bad] : std::vector<std::pair<std::string, std::string>>{
           {bytes_of(hello, {1000, 1, 1, 256}), bytes_of(hello, {1001, 1, 1, 256})},
           {bytes_of(size, {16384, 1, 256}), bytes_of(size, {16385, 1, 256})},
           {bytes_of(size, {1, 16384, 256}), bytes_of(size, {1, 16385, 256})},
           {bytes_of(size, {1, 1, 2048}), bytes_of(size, {1, 1, 2049})},
           {bytes_of(shown, {1}), bytes_of(shown, {2})},
           {bytes_of(drawn, {0xffffffff}), bytes_of(drawn, {0x100000000})},
           {bytes_of(move, {far, far - 1}), bytes_of(move, {far + 1, 0})},
           {bytes_of(move, {0, far}), bytes_of(move, {0, far + 1})},
           {bytes_of(button, {4, 1, 7, 0, 0}), bytes_of(button, {5, 1, 7, 0, 0})},
           {bytes_of(button, {0, 0, 0, 0, 0}), bytes_of(button, {0, 2, 0, 0, 0})},
           {bytes_of(button, {0, 1, 7, 0, 0}), bytes_of(button, {0, 1, 8, 0, 0})},
           {bytes_of(wheel, {0, notches, 0, 0, 0}), bytes_of(wheel, {0, notches + 1, 0, 0, 0})},
           {bytes_of(wheel, {0, 0, notches, 0, 0}), bytes_of(wheel, {0, 0, notches + 1, 0, 0})},
           {bytes_of(key, {348, 1, 0}), bytes_of(key, {349, 1, 0})}}) {
    CHECK(is_message(good));
    CHECK_FALSE(is_message(bad));
  }
}

TEST_CASE("Words are UTF-8 of a length that is there") {
  const auto words = [](TabSays says, const std::string& text) {
    return said_bytes({.says = says, .words = text});
  };
  CHECK(is_message(words(TabSays::text, std::string(16 * 1024, 'a'))));
  CHECK_FALSE(is_message(words(TabSays::text, std::string(16 * 1024 + 1, 'a'))));
  CHECK(is_message(words(TabSays::paste, std::string(kMostMessageBytes - 4, 'a'))));
  CHECK_FALSE(is_message(words(TabSays::paste, std::string(kMostMessageBytes - 3, 'a'))));
  for (const TabSays says : {TabSays::text, TabSays::paste}) {
    CHECK(is_message(words(says, "")));
    CHECK_FALSE(is_message(words(says, "\xff")));
    CHECK_FALSE(is_message(words(says, "cut \xe2\x82")));
    CHECK_FALSE(is_message(words(says, std::string("a\0b", 3))));
    CHECK_FALSE(is_message(words(says, "\xed\xa0\x80")));  // half of a pair
  }
  CHECK_FALSE(is_message(bytes_of(TabSays::text, {5}) + "four"));
}
