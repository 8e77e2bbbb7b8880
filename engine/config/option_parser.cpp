#include "config/option_parser.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <deque>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace isobar {

struct OptionParser::Option::Facts {
  CLI::Option* option = nullptr;
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
};

class OptionParser::State {
 public:
  State(const std::string& about, const std::string& usage) : app(about, usage) {
    app.set_help_flag("-h,--help", "this page");
  }

  Option::Facts* put(CLI::Option* option) {
    if (grouped) option->group(title);
    facts.push_back({.option = option});
    return &facts.back();
  }

  /// Words are texts to the library, whose own templates for numbers take a second each to compile.
  template <typename Number>
  Option::Facts* add_number(const std::string& names, const std::string& help,
                            std::function<void(Number)> take) {
    facts.emplace_back();
    Option::Facts* const about = &facts.back();
    const auto take_word = [this, names, about, take](const std::string& word) {
      take(number_of<Number>(names, word, *about));
    };
    about->option = app.add_option_function<std::string>(names, take_word, help);
    about->option->type_name(std::is_integral_v<Number> ? "INT" : "FLOAT");
    if (grouped) about->option->group(title);
    return about;
  }

  template <typename Number>
  Option::Facts* add_numbers(const std::string& names, std::vector<Number>& out, const std::string& help) {
    Option::Facts* const about = add_number<Number>(names, help, [&out, first = true](Number value) mutable {
      if (std::exchange(first, false)) out.clear();  // what stood there was the default
      out.push_back(value);
    });
    about->option->trigger_on_parse()->allow_extra_args(false);
    return about;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const CLI::Option* const option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    }
    return out;
  }

  CLI::App app;
  bool grouped = false;
  std::string title;
  std::deque<Option::Facts> facts;  ///< whose places are handed out
  const ParseWords* say = nullptr;  ///< while words are parsed

 private:
  template <typename Number>
  Number number_of(const std::string& names, const std::string& word, const Option::Facts& about) const {
    double value = 0;
    std::size_t used = 0;
    try {
      value = std::stod(word, &used);
    } catch (const std::logic_error&) {  // no number, or a larger one than there are
    }
    const std::string where = names.substr(names.rfind(',') + 1) + " = " + printable(word, 40);
    const bool whole = !std::is_integral_v<Number> || (value == std::floor(value) && std::abs(value) < 9e15 &&
                                                       word.find_first_of(".eExX") == std::string::npos);
    if (used == 0 || used != word.size() || !whole) {
      throw Error(std::is_integral_v<Number> ? "a whole number is wanted" : "a number is wanted", where,
                  say->example.empty() ? say->hint : "for example  " + say->example);
    }
    const double least = std::max(about.least, static_cast<double>(std::numeric_limits<Number>::lowest()));
    const double most = std::min(about.most, static_cast<double>(std::numeric_limits<Number>::max()));
    if (!(value >= least && value <= most)) {
      const auto text = [](double number) { return CLI::detail::to_string(number); };
      throw Error("the number is out of range", where, "from " + text(least) + " to " + text(most));
    }
    return static_cast<Number>(value);
  }
};

namespace {

[[noreturn]] void refuse_unknown_word(const std::string& word, const std::vector<std::string>& known,
                                      const ParseWords& say) {
  if (say.refuse_extra) say.refuse_extra(word);
  const std::string nearest = nearest_name(word.substr(0, word.find('=')), known);
  throw Error("unknown argument \"" + printable(word, 80) + "\"", say.where,
              nearest.empty() ? say.hint : "did you mean " + nearest + "?");
}

}  // namespace

OptionParser::Option& OptionParser::Option::in_range(double least, double most) {
  facts_->least = least;
  facts_->most = most;
  return *this;
}

OptionParser::Option& OptionParser::Option::one_of(const std::vector<std::string>& words) {
  facts_->option->check(CLI::IsMember(words));
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
  return Option(state_->put(state_->app.add_flag(names, out, help)));
}
Added OptionParser::add(const std::string& names, std::string& out, const std::string& help) {
  return Option(state_->put(state_->app.add_option(names, out, help)));
}
Added OptionParser::add(const std::string& names, std::vector<std::string>& out, const std::string& help) {
  CLI::Option* const option = state_->app.add_option(names, out, help);
  if (names.front() == '-') option->allow_extra_args(false);
  return Option(state_->put(option));
}
Added OptionParser::add(const std::string& names, std::int64_t& out, const std::string& help) {
  return Option(state_->add_number<std::int64_t>(names, help, [&out](std::int64_t value) { out = value; }));
}
Added OptionParser::add(const std::string& names, int& out, const std::string& help) {
  return Option(state_->add_number<int>(names, help, [&out](int value) { out = value; }));
}
Added OptionParser::add(const std::string& names, double& out, const std::string& help) {
  return Option(state_->add_number<double>(names, help, [&out](double value) { out = value; }));
}
Added OptionParser::add(const std::string& names, std::vector<std::int64_t>& out, const std::string& help) {
  return Option(state_->add_numbers(names, out, help));
}
Added OptionParser::add(const std::string& names, std::vector<int>& out, const std::string& help) {
  return Option(state_->add_numbers(names, out, help));
}

void OptionParser::footer(const std::string& text) { state_->app.footer(text); }

bool OptionParser::given(const std::string& name) const { return state_->app.count(name) > 0; }

bool OptionParser::parse(const std::vector<std::string>& words, std::string& help_text,
                         const ParseWords& say) {
  state_->say = &say;
  try {
    state_->app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    help_text = state_->app.help();
    return false;
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> left = state_->app.remaining();
    refuse_unknown_word(left.empty() ? "" : left.front(), state_->names(), say);
  } catch (const CLI::ParseError& error) {
    throw Error(printable(error.what()), say.where, say.hint);
  }
  return true;
}

bool OptionParser::parse(int argc, char** argv, const ParseWords& say) {
  std::string page;
  if (parse(std::vector<std::string>(argv + 1, argv + argc), page, say)) return true;
  std::fputs(page.c_str(), stdout);
  return false;
}

}  // namespace isobar
