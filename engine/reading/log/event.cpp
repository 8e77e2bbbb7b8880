#include "log/event.h"

// The library takes the fastest of its forms when it runs; compiled here they would bring all intrinsics.
#define SIMDJSON_IMPLEMENTATION_ICELAKE 0
#define SIMDJSON_IMPLEMENTATION_HASWELL 0
#define SIMDJSON_IMPLEMENTATION_WESTMERE 0
#define SIMDJSON_BUILTIN_IMPLEMENTATION fallback
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/text.h"

namespace isobar {

namespace dom = simdjson::dom;

namespace {

constexpr std::size_t kMostTextBytes = 2000;
constexpr std::size_t kMostFields = 4096;

bool named_number(std::string_view text, double& out) {
  if (text == "nan") {
    out = std::numeric_limits<double>::quiet_NaN();
  } else if (text == "inf") {
    out = std::numeric_limits<double>::infinity();
  } else if (text == "-inf") {
    out = -std::numeric_limits<double>::infinity();
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool EventField::number(double& out) const {
  if (const auto* const value_number = std::get_if<double>(&value)) {
    out = *value_number;
    return true;
  }
  const auto* const text = std::get_if<std::string_view>(&value);
  return text != nullptr && named_number(*text, out);
}

const EventField* Event::find(std::string_view key) const {
  const auto is_wanted = [&](const EventField& field) {  // each step is asked for dozens of keys
    return field.key.size() == key.size() && std::memcmp(field.key.data(), key.data(), key.size()) == 0;
  };
  const auto found = std::ranges::find_if(fields_, is_wanted);
  return found == fields_.end() ? nullptr : &*found;
}

double Event::number(std::string_view key, double otherwise) const {
  const EventField* const field = find(key);
  double out = 0;
  return field != nullptr && field->number(out) ? out : otherwise;
}

std::int64_t Event::integer(std::string_view key, std::int64_t otherwise) const {
  const double value = number(key, static_cast<double>(otherwise));
  return std::fabs(value) < 9e15 ? static_cast<std::int64_t>(value) : otherwise;
}

std::string_view Event::raw_text(std::string_view key) const {
  const EventField* const field = find(key);
  if (field == nullptr) return {};
  const auto* const text = std::get_if<std::string_view>(&field->value);
  return text == nullptr ? std::string_view{} : *text;
}

bool Event::flag(std::string_view key) const {
  const EventField* const field = find(key);
  return field != nullptr && std::holds_alternative<bool>(field->value) && std::get<bool>(field->value);
}

std::string Event::text(std::string_view key) const {
  std::string out(raw_text(key).substr(0, kMostTextBytes));
  // An error of several lines reads on as one.
  for (std::size_t at = out.find('\n'); at != std::string::npos; at = out.find('\n', at))
    out.replace(at, 1, "; ");
  return printable(out, kMostTextBytes);
}

namespace {

/// What is counted or timed in a line of figures: never less than nothing, and no more than 30 years, or an
/// exabyte.
bool is_count(std::string_view key) {
  constexpr std::string_view kUnits[] = {"_us", "_bytes", "_slots", "_calls", "_per_s"};
  constexpr std::string_view kCounts[] = {"step",     "samples", "epoch", "skipped",
                                          "launches", "steps",   "world"};
  const auto ends = [&](std::string_view unit) { return key.ends_with(unit); };
  return std::ranges::any_of(kUnits, ends) || std::ranges::find(kCounts, key) != std::end(kCounts);
}

bool is_possible(const Event& event) {
  constexpr double kMost = 1e18;
  const std::string_view kind = event.kind();
  if (kind != "step" && kind != "summary" && kind != "eval") return true;
  return std::ranges::all_of(event.fields(), [](const EventField& field) {
    double value = 0;
    return !is_count(field.key) || !field.number(value) || (value >= 0 && value <= kMost);
  });
}

}  // namespace

Attempt::Attempt(const Event& event)
    : number(event.integer("attempt")),
      from_step(event.integer("from_step")),
      from_samples(event.integer("from_samples", -1)),
      from_wall_s(event.number("from_wall_us") * 1e-6),
      world(std::clamp<std::int64_t>(event.integer("world", 1), 1, 1'000'000)),
      replicas(std::clamp<std::int64_t>(event.integer("replicas", world), 1, world)) {}

struct EventParser::Parser {
  dom::parser parser;
};

EventParser::EventParser() : parser_(std::make_unique<Parser>()) {}
EventParser::~EventParser() = default;
EventParser::EventParser(EventParser&&) noexcept = default;
EventParser& EventParser::operator=(EventParser&&) noexcept = default;

const Event* EventParser::parse(std::string_view line) {
  event_.fields_.clear();
  dom::object object;
  if (parser_->parser.parse(line.data(), line.size()).get(object) != simdjson::SUCCESS) return nullptr;
  for (const dom::key_value_pair pair : object) {
    if (event_.fields_.size() == kMostFields) break;
    double number = 0;
    bool truth = false;
    std::string_view text;
    if (pair.value.get(number) == simdjson::SUCCESS) {
      event_.fields_.push_back({pair.key, number});
    } else if (pair.value.get(text) == simdjson::SUCCESS) {
      event_.fields_.push_back({pair.key, text});
    } else if (pair.value.get(truth) == simdjson::SUCCESS) {
      event_.fields_.push_back({pair.key, truth});
    }
  }
  return is_possible(event_) ? &event_ : nullptr;
}

std::int64_t sum_of(std::int64_t total, std::int64_t more, std::int64_t most) {
  return std::clamp(total + more, -most, most);
}

}  // namespace isobar
