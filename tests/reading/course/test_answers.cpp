// What may be typed for an answer, and what is refused.
#include "course/answer.h"
#include "course/units.h"
#include "reading/course/asked.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

Question number_in(const std::string& unit) {
  Question out = asked_questions().at(0);
  out.unit = unit;
  return out;
}

double number_of_answer(const std::string& unit, const std::string& typed) {
  return parse_answer(number_in(unit), typed).number;
}

std::string refused(const Question& question, const std::string& typed, std::int64_t lines = 0) {
  return error_of([&] { parse_answer(question, typed, lines); });
}

}  // namespace

TEST_CASE("a number may have a unit of its own, separators, an exponent, or be a fraction") {
  CHECK(number_of_answer("ms", " 24.5 ") == 24.5);
  CHECK(number_of_answer("s", "24 ms") == Approx(0.024));
  CHECK(number_of_answer("us", "1.5e-3 s") == Approx(1500));
  CHECK(number_of_answer("ms", "2min") == Approx(120'000));
  CHECK(number_of_answer("GiB", "1073741824e-6 kB") == Approx(0.001));
  CHECK(number_of_answer("MB", "4096 B") == Approx(0.004096));
  CHECK(number_of_answer("MB", "64 KiB") == Approx(0.065536));
  CHECK(number_of_answer("GB", "1,024 MB") == Approx(1.024));
  CHECK(number_of_answer("MB/s", "2 GB/s") == 2000);
  CHECK(number_of_answer("samples", "1,234,567") == 1'234'567);
  CHECK(number_of_answer("x", "3/4") == 0.75);
  CHECK(number_of_answer("x", "1.8x") == 1.8);
  CHECK(number_of_answer("x", "2 times") == 2);
  CHECK(number_of_answer("GB/s", "10 Gb/s") == 1.25);
  CHECK(number_of_answer("%", "12 %") == 12);
  CHECK(number_of_answer("%", "12") == 12);
  CHECK(number_of_answer("%", "3/4") == 75);
  CHECK(number_of_answer("%", "0.35 %") == 0.35);
  CHECK(number_of_answer("%", "0") == 0);
  CHECK(number_of_answer("workers", "+4 workers") == 4);
  CHECK(number_of_answer("epochs", ".5") == 0.5);
  CHECK(parse_answer(number_in("s"), "24 ms").text == "0.024");
}

TEST_CASE("what is not a number, or cannot be one of this unit, is refused in a sentence") {
  struct Refused {
    const char* unit;
    const char* typed;
    const char* what;
    const char* hint;
  };
  for (const Refused& one : std::vector<Refused>{
           {"ms", "", "no answer was given", "a number in ms"},
           {"ms", "  \t", "no answer was given", "a number in ms"},
           {"ms", "many", "\"many\" is not a number", "such as 12"},
           {"ms", "nan", "\"nan\" is not a number", "a number in ms"},
           {"ms", "inf", "\"inf\" is not a number", "a number in ms"},
           {"ms", "-inf", "is not a number", "a number in ms"},
           {"ms", "0x10", "\"x10\" is not a unit", "us, ms, s, min"},
           {"ms", "1e999", "too large", "is the exponent right?"},
           {"us", "1e308 s", "too large", "give it in us"},
           {"ms", "1.2.3", "is not a number", "a number in ms"},
           {"ms", "1,5", "the comma in 1,5 is not a thousands separator", "use a decimal point: 1.5"},
           {"ms", "0,024", "the comma in ", "use a decimal point"},
           {"ms", "1.024,5", "the comma in ", "use a decimal point"},
           {"ms", "3/0", "nothing can be divided by 0", "a number in ms"},
           {"ms", "24 parsecs", "\"parsecs\" is not a unit", "us, ms, s, min"},
           {"GiB", "24 ms", "ms is a unit of time; a size is asked for", "give it in GiB"},
           {"GB/s", "10 Mb/s", "is not a unit that fits here", "eight bits are a byte"},
           {"ms", "-3", "cannot be negative", "0 or more"},
           {"GPUs", "-1", "a number of GPUs cannot be negative", "0 or more"},
           {"GPUs", "2.5", "a number of GPUs is a whole number", "nearest whole"},
           {"%", "101", "cannot be above 100 %", "from 0 to 100"},
           {"%", "4/3", "cannot be above 100 %", "from 0 to 100"},
           {"%", "0.35", "do you mean 0.35 % or 35 %?", "type 0.35 % or 35 %"},
           {"x", "0", "a factor cannot be 0", "1 means the same"},
           {"x", "2 \x1b[31mred", "is not a unit", "x"}}) {
    INFO(one.unit << ": " << one.typed);
    const std::string said = refused(number_in(one.unit), one.typed);
    CHECK_THAT(said, says(one.what) && says("where: 02.best_workers") && says(one.hint));
    CHECK(said.find('\x1b') == std::string::npos);
  }
  CHECK_THAT(refused(number_in("ms"), std::string(5000, '1')), says("the answer is 5000 bytes long"));
}

TEST_CASE("every unit that questions may ask for is known, and says itself") {
  for (const std::string& unit : asked_units()) {
    INFO(unit);
    REQUIRE(unit_named(unit) != nullptr);
    CHECK(number_of_answer(unit, with_unit(64, unit)) == 64);
  }
  CHECK(unit_named("furlong") == nullptr);
  CHECK(with_unit(1, "workers") == "1 worker");
  CHECK(with_unit(23'832'960, "samples") == "23,832,960 samples");
  CHECK(with_unit(1.5, "x") == "1.5 times");
  CHECK(short_number(0.012345) == "0.01235");
}

TEST_CASE("a choice is its key, letter, place or text") {
  Question question = asked_questions().at(1);
  for (const char* const typed : {"rises", "RISES", "b", "B", "2", "Ends higher than it began"})
    CHECK(parse_answer(question, typed).text == "rises");
  CHECK_THAT(refused(question, "rise"), says("none of the choices") && says("did you mean rises?"));
  CHECK_THAT(refused(question, "c"), says("one of: same, rises"));
  CHECK_THAT(refused(question, "0"), says("none of the choices"));
  question.choices = {{"4", "four"}, {"1", "one"}};
  CHECK(parse_answer(question, "1").text == "1");
  CHECK(parse_answer(question, "b").text == "1");
  CHECK_THAT(refused(question, "2"), says("none of the choices"));  // two of what is counted, not the second
  question.choices = {{"chunk 0", "chunk 0"}, {"chunk 1", "chunk 1"}, {"chunk 2", "chunk 2"}};
  CHECK(parse_answer(question, "2").text == "chunk 2");
  CHECK(parse_answer(question, "0").text == "chunk 0");
  CHECK_THAT(refused(question, "3"), says("none of the choices"));
  question.choices = {{"b1", "1 sample a step"}, {"b100", "100 samples a step"}, {"same", "the same"}};
  CHECK(parse_answer(question, "100").text == "b100");
  CHECK_THAT(refused(question, "2"), says("none of the choices"));
  question.choices = {{"few", "2 of 4"}, {"many", "all"}};
  CHECK_THAT(refused(question, "2"), says("none of the choices"));  // of one that it may be, or the second
  CHECK(parse_answer(question, "b").text == "many");
}

TEST_CASE("a direction has many words") {
  Question question = asked_questions().at(1);
  question.kind = AnswerKind::direction;
  for (const char* const typed : {"up", "+", "More"}) CHECK(parse_answer(question, typed).text == "up");
  for (const char* const typed : {"down", "-", "less"}) CHECK(parse_answer(question, typed).text == "down");
  // A longer step is a slower one: of times these would say the opposite.
  CHECK_THAT(refused(question, "slower"), says("is not a direction"));
  question.rule = "direction";
  CHECK(parse_answer(question, "faster").text == "up");
  CHECK(parse_answer(question, "slower").text == "down");
  for (const char* const typed : {"same", "=", "no change"})
    CHECK(parse_answer(question, typed).text == "same");
  CHECK_THAT(refused(question, "sideways"), says("is not a direction") && says("up, same or down"));
}

TEST_CASE("a line is a number with or without the name of its page") {
  const Question question = asked_questions().at(2);
  for (const char* const typed : {"42", "main.cpp:42", "lessons/02_workers/main.cpp:42", "line 42", ":42"}) {
    CHECK(parse_answer(question, typed, 100).line == 42);
    CHECK(parse_answer(question, typed, 100).text == "42");
  }
  CHECK_THAT(refused(question, "101", 100),
             says("there is no line 101") && says("main.cpp has lines 1 to 100"));
  CHECK_THAT(refused(question, "0"), says("there is no line 0") && says("lines begin at 1"));
  CHECK_THAT(refused(question, "-4"), says("there is no line -4"));
  CHECK_THAT(refused(question, "loader.cpp:42"), says("is another file") && says("a line of main.cpp"));
  CHECK_THAT(refused(question, "the loop"), says("is not a line number"));
}

TEST_CASE("what is made is named by its runs") {
  const Question question = asked_questions().at(3);
  const Answer answer = parse_answer(question, " runs/a,  runs/b ");
  CHECK(answer.runs == std::vector<std::string>{"runs/a", "runs/b"});
  CHECK(answer.text == "runs/a runs/b");
  CHECK_THAT(refused(question, ", ,"), says("0 runs were named") && says("name one to 20 runs"));
}
