#include <pthread.h>

#include <array>
#include <clocale>
#include <exception>
#include <functional>
#include <locale>

#include "config/assign.h"
#include "config/load.h"
#include "core/files.h"
#include "foreign/toml_limits.h"
#include "support/catch.h"
#include "support/hostile.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

const std::vector<HostileFile> kToml = {
    {"unknown-key", "no key \"optim.lrr\"", ":3:1"},
    {"unknown-table", "no key \"optimm.lr\"", ":2:1"},
    {"type-text", "an integer, got the string \"four\"", ":2:1"},
    {"type-float", "an integer, got the number 1000", ":1:7"},
    {"type-date", "a number, got a date", ":1:7"},
    {"type-table", "no key \"optim.lr.a\"", ":1:13"},
    {"type-tables", "no key \"train\"", ":1:3"},
    {"range", "train.steps = 0 is not allowed", ":2:1"},
    {"range-huge", "train.steps = 9223372036854775807 is not allowed", ":1:7"},
    {"inf", "optim.lr = inf is not allowed", ":1:7"},
    {"minus-nan", "nan is not allowed", ":1:7"},
    {"decimal-comma", "not TOML", ":1:13"},
    {"beyond-64-bits", "not representable in 64 bits", ":1:34"},
    {"key-twice", "cannot redefine", ":2:15"},
    {"key-twice-quoted", "cannot redefine", ":3:11"},
    {"table-twice", "cannot redefine existing table", ":3:1"},
    {"zero-byte", "a NUL byte", ":2:5"},
    {"no-utf8", "invalid utf-8", ":2:8"},
    {"surrogate", "invalid utf-8", ":2:8"},
    {"utf-16", "a NUL byte", ":1:4"},
    {"return-alone", "not TOML", ":1:9"},
    {"control-in-comment", "control characters", ":1:3"},
    {"no-value", "expected value", ":2:9"},
    {"string-open", "not TOML", ":2:12"},
    {"string-open-long", "end-of-file", ":2:15"},
    {"brackets", "nested deeper than 32", ":1:37"},
    {"braces", "nested deeper than 32", ":1:101"},
    {"header-without-a-name", "a name is wanted", ":3:3"},
    {"header-of-other-letters", "a name is wanted", ":1:2"},
    {"key-of-other-letters", "not ASCII", ":1:1"},
    {"value-of-other-letters", "not ASCII", ":1:5"},
    {"quote-in-a-number", "a quote in the middle of a word", ":1:16"},
    {"headers", "nested deeper than 32", ":1:33"},
    {"dots", "nested deeper than 32", ":1:66"},
    {"dots-in-header", "nested deeper than 32", ":1:65"},
    {"dots-in-both", "nested deeper than 32", ":2:24"},
    {"dots-in-braces", "nested deeper than 32", ":1:72"},
    {"brackets-closed-in-comments", "nested deeper than 32", ":33:1"},
    {"brackets-closed-in-strings", "nested deeper than 32", ":1:229"},
    {"brackets-behind-five-quotes", "nested deeper than 32", ":1:204"},
    {"brackets-behind-escape", "nested deeper than 32", ":1:44"},
    {"key-long", "a key of more than 512 bytes", ":1:1"},
    {"key-long-together", "a key of more than 512 bytes", ":2:1"},
};

const std::filesystem::path kHome = project_home();

LoadedConfig load(const Settings& settings) {
  return load_config(kHome, read_lesson(kHome, "01_baseline"), settings, "cpu");
}

/// Runs `body` with a stack of 1 MiB, which is what small threads have; a crash ends the test program.
void with_small_stack(const std::function<void()>& body) {
  struct Work {
    const std::function<void()>& body;
    std::exception_ptr error;
  } work{body, nullptr};
  const auto run = [](void* argument) -> void* {
    auto* const mine = static_cast<Work*>(argument);
    try {
      mine->body();
    } catch (...) {
      mine->error = std::current_exception();
    }
    return nullptr;
  };
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 1 << 20) == 0);
  pthread_t thread{};
  REQUIRE(pthread_create(&thread, &attributes, run, &work) == 0);
  REQUIRE(pthread_join(thread, nullptr) == 0);
  pthread_attr_destroy(&attributes);
  if (work.error) std::rethrow_exception(work.error);
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

struct CommaPoint : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

/// Both locales of the process with a decimal comma; the C one where the machine has such a locale.
class CommaLocale {
 public:
  CommaLocale() : before_(std::locale::global(std::locale(std::locale(), new CommaPoint))) {
    for (const char* name : {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "pt_BR.UTF-8"}) {
      if (std::setlocale(LC_NUMERIC, name) != nullptr) break;
    }
  }
  ~CommaLocale() {
    std::setlocale(LC_NUMERIC, "C");
    std::locale::global(before_);
  }

 private:
  std::locale before_;
};

}  // namespace

TEST_CASE("hostile TOML is refused with file, line and column") {
  CHECK(kToml.size() >= 20);
  check_hostile_files("toml", kToml, [](const auto& path) { load({.config_files = {path}}); });
}

TEST_CASE("deep nesting is refused, and the deepest that is read needs no large stack") {
  const auto refused = [](const std::string& text) {
    CHECK_THAT(error_of([&] { with_small_stack([&] { parse_toml(text, "t"); }); }), says("nested deeper"));
  };
  const int many = 100'000;
  refused("x = " + std::string(many, '['));
  refused("x = " + repeated("{a=", many));
  refused("x = " + repeated("[{a=", many));
  refused(std::string(many, '['));
  refused("a" + repeated(".a", many) + " = 1");
  refused("[a" + repeated(".a", many) + "]");
  refused("x = " + repeated("[ #]\n", many));
  refused("x = " + repeated("['''\n]''',", many));
  refused("x = " + repeated("{a.a.a.a.a.a.a.a = ", many / 10));

  const int deep = kMostTomlDepth - 1;
  with_small_stack([&] {
    CHECK(parse_toml("x = " + repeated("[", deep) + repeated("]", deep), "t").size() == 1);
    CHECK(parse_toml("x = " + repeated("{a=", deep) + "1" + repeated("}", deep), "t").size() == 1);
    CHECK(parse_toml("a" + repeated(".a", deep) + " = 1", "t").size() == 1);
  });
}

TEST_CASE("brackets and dots in strings and comments are no nesting") {
  const std::string many = repeated("[{.", 200);
  const auto value = [](const std::string& text) {
    return std::get<std::string>(parse_toml("a = " + text + "\n", "t").at(0).value);
  };
  CHECK(value("\"" + many + "\\\"" + many + "\"") == many + "\"" + many);
  CHECK(value("'" + many + "'") == many);
  CHECK(value("\"\"\"" + many + "\"\"\"\"\"") == many + "\"\"");
  CHECK(value("'''" + many + "\n'" + many + "'''") == many + "\n'" + many);
  CHECK(value("'x' # " + many) == "x");
}

TEST_CASE("much text is refused before the parser sees it") {
  const TempFolder folder;
  write_file_whole(folder / "large.toml", repeated("# a comment\n", 10 * 1024 * 1024 / 12));
  CHECK_THAT(error_of([&] { load({.config_files = {folder / "large.toml"}}); }),
             says("at most 1048576") && says("large.toml"));

  // The parser searches a list of all tables for each that has no header: 20,000 take it 80 ms.
  const auto tables = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "t" + std::to_string(i) + ".a = 1\n";
    return text;
  };
  CHECK(parse_toml(tables(19'999), "t").size() == 19'999);
  CHECK_THAT(error_of([&] { parse_toml(tables(20'001), "t"); }),
             says("more than 20000 keys") && says("t:20001:"));
}

TEST_CASE("numbers are read and written the same where the decimal sign is a comma") {
  const TempFolder folder;
  Config config;
  config.optim.lr = 1.25e-3;
  config.train.steps = 123'456;
  const CommaLocale comma;
  write_file_whole(folder / "run.toml", to_toml(config));
  const LoadedConfig loaded = load({.config_files = {folder / "run.toml"}, .sets = {"optim.beta1=0.5"}});
  CHECK(loaded.config.optim.lr == 1.25e-3);
  CHECK(loaded.config.train.steps == 123'456);
  CHECK(loaded.config.optim.beta1 == 0.5);
  CHECK_THAT(error_of([] { load({.sets = {"optim.lr=0,5"}}); }), says("wants a number"));
  CHECK_THAT(error_of([] { load({.sets = {"optim.lr=-2.5"}}); }), says("-2.5 is not allowed"));
}

TEST_CASE("a path that is no UTF-8 is written as text that can be read") {
  const std::vector<TomlEntry> entries = parse_toml("path = " + toml_string("l\xe4ufe/\xc3\xbc"), "written");
  REQUIRE(entries.size() == 1);
  CHECK(std::get<std::string>(entries[0].value) == "l\xef\xbf\xbdufe/\xc3\xbc");
}

TEST_CASE("--set takes one value and nothing around it") {
  Config config;
  const std::vector<Key> keys = keys_of(config);
  const auto refused = [&](const std::string& set) {
    return error_of([&] {
      const TomlEntry entry = entry_of_set(set, keys);
      assign(find_key(keys, entry), entry);
    });
  };
  CHECK_THAT(refused("train.steps={a = 1}"), says("got a table"));
  CHECK_THAT(refused("train.steps={value = 1}"), says("got a table"));
  CHECK_THAT(refused("train.steps={}"), says("got a table"));
  CHECK_THAT(refused("train.steps=1\nvalue = 2"), says("one line"));
  CHECK_THAT(refused("train.steps=" + std::string(100'000, '[')), says("wants an integer"));
  CHECK_THAT(refused("train.steps=1 2"), says("wants an integer"));
  CHECK_THAT(refused("train.steps="), says("wants an integer"));
  CHECK_THAT(refused("data.root=\xff"), says("no UTF-8"));
  CHECK_THAT(refused("data.root=l\xe4ufe"), says("no UTF-8"));
  CHECK_THAT(refused("data.root=" + std::string(2 << 20, 'a')), says("too long"));
  CHECK_THAT(refused("data.root=\"a\" \"b\""), says("wants a string"));
  CHECK_THAT(refused("run.fault=\x1b[2J"), says("is not allowed"));
  CHECK(refused("run.fault=" + std::string(100'000, 'x')).size() < 2'000);
  CHECK(refused(std::string(100'000, 'x') + "=1").size() < 1'000);
}
