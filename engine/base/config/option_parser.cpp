#include "config/option_parser.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <deque>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace isobar {

namespace {

/// Whole numbers with all their digits.
std::string number_text(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                              : fmt::format("{:g}", value);
}

}  // namespace

struct OptionParser::Option::Facts {
  CLI::Option* option = nullptr;
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
};

/// The library hands over words as they are: its own conversions are templates that take seconds to compile.
class OptionParser::State {
 public:
  using Words = std::vector<std::string>;

  State(const std::string& about, const std::string& usage) : app(about, usage) {
    app.set_help_flag("-h,--help", "this page");
  }

  Option::Facts* put(CLI::Option* option) {
    if (grouped) option->group(title);
    facts.push_back({.option = option});
    return &facts.back();
  }

  /// One word, which `take` gets.
  Option::Facts* add(const std::string& names, const char* type, const std::string& help,
                     std::function<void(const std::string&, const Option::Facts&)> take) {
    facts.emplace_back();
    Option::Facts* const about = &facts.back();
    const auto take_last = [about, take = std::move(take)](const Words& words) {
      take(words.back(), *about);
      return true;
    };
    about->option = app.add_option(names, take_last, help)->type_name(type);
    if (grouped) about->option->group(title);
    return about;
  }

  /// One word each time, or all that stand without an option.
  Option::Facts* add_list(const std::string& names, const char* type, const std::string& help,
                          std::function<void(const Words&, const Option::Facts&)> take) {
    facts.emplace_back();
    Option::Facts* const about = &facts.back();
    const auto take_all = [about, take = std::move(take)](const Words& words) {
      take(words, *about);
      return true;
    };
    about->option = app.add_option(names, take_all, help)->type_name(type);
    about->option->expected(CLI::detail::expected_max_vector_size)->allow_extra_args(names.front() != '-');
    if (grouped) about->option->group(title);
    return about;
  }

  template <typename Number>
  Option::Facts* add_number(const std::string& names, Number& out, const std::string& help) {
    return add(names, kType<Number>, help,
               [this, names, &out](const std::string& word, const Option::Facts& about) {
                 out = number_of<Number>(names, word, about);
               });
  }
  template <typename Number>
  Option::Facts* add_numbers(const std::string& names, std::vector<Number>& out, const std::string& help) {
    return add_list(names, kType<Number>, help,
                    [this, names, &out](const Words& words, const Option::Facts& about) {
                      out.clear();
                      for (const std::string& word : words)
                        out.push_back(number_of<Number>(names, word, about));
                    });
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const CLI::Option* const option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    }
    return out;
  }

  void parse(const Words& words, const ParseWords& texts);

  CLI::App app;
  bool grouped = false;
  std::string title;
  std::deque<Option::Facts> facts;  ///< whose places are handed out
  const ParseWords* say = nullptr;  ///< while words are parsed

 private:
  template <typename Number>
  static constexpr const char* kType = std::is_integral_v<Number> ? "INT" : "FLOAT";

  template <typename Number>
  Number number_of(const std::string& names, const std::string& word, const Option::Facts& about) const {
    Number out{};
    const char* const end = word.data() + word.size();
    const auto parsed = std::from_chars(word.data(), end, out);
    const std::string where = names.substr(names.rfind(',') + 1) + " = " + printable(word, 40);
    if (parsed.ec == std::errc::invalid_argument || parsed.ptr != end) {
      throw Error(std::is_integral_v<Number> ? "a whole number is wanted" : "a number is wanted", where,
                  say->example.empty() ? say->hint : "for example  " + say->example);
    }
    const auto value = static_cast<double>(out);
    if (parsed.ec != std::errc() || !(value >= about.least && value <= about.most)) {
      const double least = std::max(about.least, static_cast<double>(std::numeric_limits<Number>::lowest()));
      const double most = std::min(about.most, static_cast<double>(std::numeric_limits<Number>::max()));
      throw Error("the number is out of range", where,
                  std::isinf(about.most) ? "a whole number from " + number_text(least) + " on"
                                         : "from " + number_text(least) + " to " + number_text(most));
    }
    return out;
  }
};

namespace {

/// "$UNSET" behind an option would otherwise mean that it was not given.
std::filesystem::path named_path(const std::string& names, const std::string& word, const ParseWords& say) {
  if (word.empty())
    throw Error(names.substr(names.rfind(',') + 1) + " is empty", say.where, "name a file, or leave it out");
  return word;
}

[[noreturn]] void refuse_unknown_word(const std::string& word, const std::vector<std::string>& known,
                                      const ParseWords& say) {
  const std::string nearest = nearest_name(word.substr(0, word.find('=')), known);
  const std::string hint = say.hint_extra ? say.hint_extra(word) : "";
  throw Error("unknown argument \"" + printable(word, 80) + "\"", say.where,
              !hint.empty() ? hint : (nearest.empty() ? "" : "did you mean " + nearest + "? ") + say.hint);
}

}  // namespace

void OptionParser::State::parse(const Words& words, const ParseWords& texts) {
  say = &texts;
  try {
    app.parse(Words(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    throw;
  } catch (const CLI::ExtrasError&) {
    const Words left = app.remaining();
    refuse_unknown_word(left.empty() ? "" : left.front(), names(), texts);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    if (text.find("missing") == std::string::npos) throw Error(printable(text), texts.where, texts.hint);
    throw Error(printable(text.substr(0, text.find(':'))) + " what?", texts.where, texts.hint);
  } catch (const CLI::ParseError& error) {
    throw Error(printable(error.what()), texts.where, texts.hint);
  }
}

OptionParser::Option& OptionParser::Option::in_range(double least, double most) {
  facts_->least = least;
  facts_->most = most;
  facts_->option->type_name(fmt::format("{} from {} to {}", facts_->option->get_type_name(),
                                        number_text(least), number_text(most)));
  return *this;
}

OptionParser::Option& OptionParser::Option::at_least(double least) {
  facts_->least = least;
  facts_->most = std::numeric_limits<double>::infinity();
  facts_->option->type_name(
      fmt::format("{} from {} on", facts_->option->get_type_name(), number_text(least)));
  return *this;
}

OptionParser::Option& OptionParser::Option::one_of(const std::vector<std::string>& words) {
  facts_->option->type_name("{" + joined(words, ",") + "}");
  facts_->option->check([words](const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end() ? ""
                                                                      : word + " is none of " + joined(words);
  });
  return *this;
}

bool OptionParser::Option::given() const { return facts_->option->count() > 0; }

OptionParser::OptionParser(const std::string& about, const std::string& usage)
    : state_(std::make_unique<State>(about, usage)) {}
OptionParser::~OptionParser() = default;

void OptionParser::group(const std::string& title) {
  state_->grouped = true;
  state_->title = title;
}

using Added = OptionParser::Option;

Added OptionParser::flag(const std::string& names, bool& out, const std::string& help) {
  return Option(state_->put(state_->app.add_flag_function(
      names, [&out](std::int64_t count) { out = count > 0; }, help)));
}
Added OptionParser::add(const std::string& names, std::string& out, const std::string& help) {
  return Option(
      state_->add(names, "TEXT", help, [&out](const std::string& word, const auto&) { out = word; }));
}
Added OptionParser::add(const std::string& names, std::filesystem::path& out, const std::string& help) {
  State* const state = state_.get();
  return Option(state->add(names, "TEXT", help, [state, names, &out](const std::string& word, const auto&) {
    out = named_path(names, word, *state->say);
  }));
}
Added OptionParser::add(const std::string& names, std::vector<std::string>& out, const std::string& help) {
  return Option(state_->add_list(
      names, "TEXT", help, [&out](const std::vector<std::string>& words, const auto&) { out = words; }));
}
Added OptionParser::add(const std::string& names, std::vector<std::filesystem::path>& out,
                        const std::string& help) {
  State* const state = state_.get();
  return Option(state->add_list(names, "TEXT", help,
                                [state, names, &out](const std::vector<std::string>& words, const auto&) {
                                  out.clear();
                                  for (const std::string& word : words)
                                    out.push_back(named_path(names, word, *state->say));
                                }));
}
Added OptionParser::add(const std::string& names, std::int64_t& out, const std::string& help) {
  return Option(state_->add_number(names, out, help));
}
Added OptionParser::add(const std::string& names, int& out, const std::string& help) {
  return Option(state_->add_number(names, out, help));
}
Added OptionParser::add(const std::string& names, double& out, const std::string& help) {
  return Option(state_->add_number(names, out, help));
}
Added OptionParser::add(const std::string& names, std::vector<std::int64_t>& out, const std::string& help) {
  return Option(state_->add_numbers(names, out, help));
}
Added OptionParser::add(const std::string& names, std::vector<int>& out, const std::string& help) {
  return Option(state_->add_numbers(names, out, help));
}

void OptionParser::footer(const std::string& text) { state_->app.footer(text); }

bool OptionParser::given(const std::string& name) const { return state_->app.count(name) > 0; }

std::string version_text() { return "isobar " ISOBAR_VERSION; }

bool OptionParser::parse(const std::vector<std::string>& words, std::string& help_text,
                         const ParseWords& say) {
  if (words == std::vector<std::string>{"--version"}) {
    help_text = version_text() + "\n";
    return false;
  }
  try {
    state_->parse(words, say);
  } catch (const CLI::CallForHelp&) {
    help_text = state_->app.help();
    return false;
  }
  return true;
}

std::vector<std::string> OptionParser::parse_known(const std::vector<std::string>& words,
                                                   const ParseWords& say) {
  state_->app.set_help_flag();
  state_->app.allow_extras();
  state_->parse(words, say);
  return state_->app.remaining();
}

bool OptionParser::parse(const std::vector<std::string>& words, const ParseWords& say) {
  std::string page;
  if (parse(words, page, say)) return true;
  std::fputs(page.c_str(), stdout);
  return false;
}

bool OptionParser::parse(int argc, char** argv, const ParseWords& say) {
  return parse(std::vector<std::string>(argv + 1, argv + argc), say);
}

}  // namespace isobar
