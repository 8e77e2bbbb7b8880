// JSON values of ours against the library behind them, and what is no JSON.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "core/json.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

TEST_CASE("a value is written as the library writes it, keys in their order") {
  const Json inner = {{"z", 1}, {"a", -2.5}, {"empty", Json::object()}};
  const Json all = {{"text", "a \"b\" \\ \n \x01 \xc3\xa9"},
                    {"list", std::vector<double>{0.1, 1e300, 3}},
                    {"none", Json()},
                    {"yes", true},
                    {"most", std::numeric_limits<std::uint64_t>::max()},
                    {"inner", inner}};
  const auto theirs = nlohmann::ordered_json::parse(all.text());
  CHECK(theirs.dump() == all.text());
  CHECK(theirs.dump(2) == all.indented());
  CHECK(theirs["inner"].begin().key() == "z");
  CHECK(Json::parse(all.text()).text() == all.text());
}

TEST_CASE("what would steer a terminal is escaped, and comes back as it was") {
  const std::string text = "\u009b31m \u202e \u00e9";
  CHECK(json_quoted(text) == "\"\\u009b31m \\u202e \\u00e9\"");
  CHECK(Json::parse(json_quoted(text)).as_text() == text);
}

TEST_CASE("numbers keep their value; those that JSON lacks are null") {
  for (const double value : {0.1, -0.0, 1.0 / 3, 1e-308, 123456789.0, std::ldexp(1.0, 60)})
    CHECK(nlohmann::json::parse(Json(value).text()).get<double>() == value);
  CHECK(Json(std::nan("")).text() == "null");
  CHECK(Json(std::numeric_limits<double>::infinity()).text() == "null");
}

TEST_CASE("members are added, replaced and taken out; arrays grow") {
  Json value;
  value["b"] = 1;
  value["a"] = "x";
  value["b"] = 2;
  CHECK(value.text() == R"({"b":2,"a":"x"})");
  value.erase("b");
  value.erase("never there");
  CHECK(value.text() == R"({"a":"x"})");
  Json list;
  list.push_back(1);
  list.push_back({{"k", Json()}});
  CHECK(list.text() == R"([1,{"k":null}])");
  CHECK(Json::array().empty());
}

TEST_CASE("named values have the names at the end of their expressions, and join an object in their order") {
  struct {
    int world = 2;
    int hosts() const { return 1; }
  } view;
  const auto* const far = &view;
  const std::optional<double> overlap;
  Json out = {{"world", 1}, {"first", true}};
  add_members(out, ISOBAR_NAMED(view.world, far->hosts(), overlap));
  CHECK(out.text() == Json{{"world", 2}, {"first", true}, {"hosts", 1}, {"overlap", Json()}}.text());
}

TEST_CASE("values are equal in any order of keys, numbers by value and whole ones to the last digit") {
  const Json value = Json::parse(R"({"a": [1, 2.50, "x"], "b": {"c": null, "d": true}})");
  CHECK(value == Json::parse(R"({"b": {"d": true, "c": null}, "a": [1.0, 2.5, "x"]})"));
  CHECK(value["a"][1] == 2.5);
  CHECK(value["a"][2] == "x");
  CHECK(value["b"]["d"] == true);
  CHECK(value["b"]["c"] == Json());
  CHECK(value["a"].values().size() == 3);
  CHECK(value.contains("a"));
  CHECK_FALSE(value.contains("c"));
  for (const char* const other :
       {R"({"a": [1, 2.5, "x"], "b": {"c": null}})", R"({"a": [1, 2.5, "x"], "b": {"c": null, "e": true}})",
        R"({"a": [1, "x", 2.5], "b": {"c": null, "d": true}})", R"({"a": [1, 2.5, "x"]})"})
    CHECK_FALSE(value == Json::parse(other));
  CHECK_FALSE(Json(1) == "1");
  CHECK_FALSE(Json(0) == false);
  CHECK_FALSE(Json() == false);
  CHECK_FALSE(Json(9'007'199'254'740'993) == 9'007'199'254'740'992);
  CHECK_THAT(error_of([&] { value["a"].at(3); }), says("fewer values"));
  CHECK_THAT(error_of([&] { value["c"]; }), says("without \"c\""));
}

TEST_CASE("texts that are no UTF-8 are replaced, escaped or refused") {
  CHECK(json_quoted("a\xff") == "\"a\xef\xbf\xbd\"");
  CHECK(json_quoted("\xc3\xa9", JsonEscapes::ascii) == "\"\\u00e9\"");
  CHECK_THAT(failure_of([] { json_quoted("a\xff", JsonEscapes::strict); }), says("no UTF-8"));
}

TEST_CASE("what is no JSON, or another value than asked for, is an Error") {
  for (const char* const text : {"", "{", "{\"a\":}", "[1,]", "nul", "{\"a\":1} x", "\"\xff\""})
    CHECK_THAT(error_of([&] { Json::parse(text); }), says("no JSON at byte"));
  CHECK_THAT(error_of([] { Json::parse(std::string(101, '[') + std::string(101, ']')); }),
             says("too deeply"));
  CHECK(Json::parse(std::string(100, '[') + std::string(100, ']')).values().size() == 1);
  std::string many = "{";
  for (int i = 0; i <= 10'000; ++i) many += "\"" + std::to_string(i) + "\":0,";
  CHECK_THAT(error_of([&] { Json::parse(many + "\"last\":0}"); }), says("too many keys"));
  const Json value = Json::parse(R"({"whole": 7, "part": 7.5, "text": "x", "large": 18446744073709551615})");
  CHECK(value.at("whole").as_integer() == 7);
  CHECK(value.at("whole").as_number() == 7);
  CHECK(value.at("part").as_number() == 7.5);
  CHECK_THAT(error_of([&] { value.at("text").as_number(); }), says("a number belongs"));
  CHECK_THAT(error_of([] { Json::parse("null").as_number(); }), says("a number belongs"));
  CHECK_THAT(error_of([] { Json::parse("1e999"); }), says("no JSON at byte"));
  CHECK(value.at("text").as_text() == "x");
  CHECK_THAT(error_of([&] { value.at("other"); }), says("without \"other\""));
  CHECK_THAT(error_of([&] { value.at("part").as_integer(); }), says("a whole number"));
  CHECK_THAT(error_of([&] { value.at("large").as_integer(); }), says("a whole number"));
  CHECK_THAT(error_of([&] { value.at("whole").as_text(); }), says("a text"));
}
