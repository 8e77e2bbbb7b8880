#include "core/error.h"
#include "core/pattern.h"
#include "core/text.h"
#include "support/catch.h"

using namespace isobar;

TEST_CASE("numbers are written for people") {
  CHECK(human_bytes(640) == "640 B");
  CHECK(human_bytes(20'736'000) == "20.7 MB");
  CHECK(human_bytes(585'123'456) == "585 MB");
  CHECK(human_bytes(1'234'567'890) == "1.23 GB");
  CHECK(human_flops(989e12) == "989 TFLOP/s");
  CHECK(human_flops(19.5e12) == "19.5 TFLOP/s");
  CHECK(human_flops(1.057e12) == "1.06 TFLOP/s");
  CHECK(human_flops(235.4e9) == "235 GFLOP/s");
  CHECK(human_flops(-1) == "?");
  CHECK(human_seconds(0.84) == "0.8 s");
  CHECK(human_seconds(42) == "42 s");
  CHECK(human_seconds(200) == "3 min 20 s");
  CHECK(human_seconds(7500) == "2 h 05 min");
  CHECK(human_seconds(-1) == "?");
  CHECK(about_seconds(0.2) == "1 s");
  CHECK(about_seconds(9.6) == "10 s");
  CHECK(about_seconds(42) == "40 s");
  CHECK(about_seconds(57) == "55 s");
  CHECK(about_seconds(58) == "1 min");
  CHECK(about_seconds(1604) == "27 min");
  CHECK(about_seconds(3569) == "59 min");
  CHECK(about_seconds(3580) == "1 h");
  CHECK(about_seconds(4900) == "1 h 20 min");
  CHECK(about_seconds(-1) == "?");
  CHECK(human_count(23'832'960) == "23,832,960");
  CHECK(human_count(-1234) == "-1,234");
  CHECK(human_count(7) == "7");
}

TEST_CASE("the nearest name is what was meant, or nothing") {
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(nearest_name("optim.lrr", {"optim.lr", "optim.eps", "data.dt"}) == "optim.lr");
  CHECK(nearest_name("01_basline", {"01_baseline", "02_workers"}) == "01_baseline");
  CHECK(nearest_name("zebra", {"optim.lr", "data.root"}).empty());
}

TEST_CASE("letters of ASCII are lowered, others stay") {
  CHECK(lowered("A100-Zä \xc3\x84") == "a100-zä \xc3\x84");
}

TEST_CASE("foreign text cannot steer a terminal") {
  CHECK(printable("a\x1b[31mb\n") == "a?[31mb?");
  CHECK(printable(std::string(300, 'x'), 10) == "xxxxxxxxxx...");
  CHECK(printable("\u009b31m \u202egnp.exe \u2066 \ufeff\u2028\u200b") ==
        "?31m ?gnp.exe ? ???");  // C1, direction, breaks
  CHECK(printable("\x9b"
                  "31m \xc3 \xff") == "?31m ? ?");  // no UTF-8
  CHECK(printable("Grüße, 天気 \U0001f600") == "Grüße, 天気 \U0001f600");
  CHECK(printable("天気", 4) == "天...");
  CHECK(printable("天気", 6) == "天気");
  CHECK(printable_line("a\x1b[2J\nb") == "a?[2J");
  CHECK(printable_line("whole", 3) == "who...");
  CHECK(printable_line("\nb") == "");
  CHECK(printable_lines("a\nb\r\x1b[2Jc\n") == "a\nb??[2Jc\n");
  CHECK(xml_escaped("<\x01\u202e>") == "&lt;??&gt;");
  CHECK(Error("a\x1b[31m", "b\u009b", "c\nd").text() == "error: a?[31m\n  where: b?\n  hint:  c\nd");
}

TEST_CASE("arguments are quoted as a shell needs them") {
  CHECK(shell_quoted("optim.lr=1e-3") == "optim.lr=1e-3");
  CHECK(shell_quoted("a b") == "'a b'");
  CHECK(shell_quoted("it's") == "'it'\\''s'");
  CHECK(shell_quoted("") == "''");
}

TEST_CASE("an error says what, where and what to do in at most three lines") {
  const Error error("the file has 19 channels", "2001.h5", "--set data.channels=19");
  CHECK(error.text() == "error: the file has 19 channels\n  where: 2001.h5\n  hint:  --set data.channels=19");
  CHECK(static_cast<int>(error.code()) == 2);
  CHECK(Error("x", "", "").text() == "error: x");
}

TEST_CASE("main turns what is thrown into the exit codes that scripts rely on") {
  CHECK(guarded_main("test", [] { return 7; }) == 7);
  CHECK(guarded_main("test", []() -> int { throw Error("bad input, on purpose", "", ""); }) == 2);
  CHECK(guarded_main("test", []() -> int { throw Error("failed, on purpose", "", "", Exit::failed); }) == 1);
  CHECK(guarded_main("test", []() -> int { throw std::runtime_error("other, on purpose"); }) == 1);
  CHECK(guarded_main("test", []() -> int { throw std::bad_alloc(); }) == 1);
}

TEST_CASE("a pattern finds all of its places, each with its groups") {
  using Matches = std::vector<std::vector<std::string>>;
  CHECK(matches_of("a=1, bc=22", "([a-z]+)=([0-9]+)") == Matches{{"a=1", "a", "1"}, {"bc=22", "bc", "22"}});
  CHECK(matches_of("ab", "(a)|(b)") == Matches{{"a", "a", ""}, {"b", "", "b"}});
  CHECK(matches_of("aab", "^a") == Matches{{"a"}});  // the text has one beginning
  CHECK(matches_of("ab", "x*") == Matches{{""}, {""}, {""}});
  CHECK(matches_of("a b ab", "\\bb\\b") == Matches{{"b"}});
  CHECK(matches_of(std::string("a\0a", 3), "a").size() == 2);
  CHECK(matches_of("", "a").empty());
  CHECK(matches_of(std::string(1'000'000, 'a'), "^(a|b)*$").size() == 1);
  CHECK_THROWS_AS(matches_of("a", "(a"), std::invalid_argument);
}
