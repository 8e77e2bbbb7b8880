#include "analyse/entity.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <iterator>

#include "core/utf8.h"

namespace isobar {
namespace {

struct NamedCharacter {
  std::string_view name;
  std::uint32_t code_point;
};

// What prose about models, sizes and formulas uses; HTML has 2,000 more.
constexpr NamedCharacter kNamedCharacters[] = {
    {"amp", 0x26},      {"lt", 0x3c},       {"gt", 0x3e},       {"quot", 0x22},     {"apos", 0x27},
    {"nbsp", 0xa0},     {"copy", 0xa9},     {"reg", 0xae},      {"trade", 0x2122},  {"deg", 0xb0},
    {"plusmn", 0xb1},   {"sup2", 0xb2},     {"sup3", 0xb3},     {"micro", 0xb5},    {"middot", 0xb7},
    {"times", 0xd7},    {"divide", 0xf7},   {"frac12", 0xbd},   {"frac14", 0xbc},   {"frac34", 0xbe},
    {"ndash", 0x2013},  {"mdash", 0x2014},  {"lsquo", 0x2018},  {"rsquo", 0x2019},  {"ldquo", 0x201c},
    {"rdquo", 0x201d},  {"bull", 0x2022},   {"hellip", 0x2026}, {"permil", 0x2030}, {"prime", 0x2032},
    {"Prime", 0x2033},  {"euro", 0x20ac},   {"sect", 0xa7},     {"para", 0xb6},     {"laquo", 0xab},
    {"raquo", 0xbb},    {"larr", 0x2190},   {"uarr", 0x2191},   {"rarr", 0x2192},   {"darr", 0x2193},
    {"harr", 0x2194},   {"lArr", 0x21d0},   {"rArr", 0x21d2},   {"hArr", 0x21d4},   {"forall", 0x2200},
    {"part", 0x2202},   {"exist", 0x2203},  {"nabla", 0x2207},  {"isin", 0x2208},   {"notin", 0x2209},
    {"prod", 0x220f},   {"sum", 0x2211},    {"minus", 0x2212},  {"radic", 0x221a},  {"prop", 0x221d},
    {"infin", 0x221e},  {"and", 0x2227},    {"or", 0x2228},     {"cap", 0x2229},    {"cup", 0x222a},
    {"int", 0x222b},    {"asymp", 0x2248},  {"ne", 0x2260},     {"equiv", 0x2261},  {"le", 0x2264},
    {"ge", 0x2265},     {"sub", 0x2282},    {"sup", 0x2283},    {"lceil", 0x2308},  {"rceil", 0x2309},
    {"lfloor", 0x230a}, {"rfloor", 0x230b}, {"lang", 0x27e8},   {"rang", 0x27e9},   {"Alpha", 0x391},
    {"Beta", 0x392},    {"Gamma", 0x393},   {"Delta", 0x394},   {"Epsilon", 0x395}, {"Theta", 0x398},
    {"Lambda", 0x39b},  {"Pi", 0x3a0},      {"Sigma", 0x3a3},   {"Phi", 0x3a6},     {"Psi", 0x3a8},
    {"Omega", 0x3a9},   {"alpha", 0x3b1},   {"beta", 0x3b2},    {"gamma", 0x3b3},   {"delta", 0x3b4},
    {"epsilon", 0x3b5}, {"zeta", 0x3b6},    {"eta", 0x3b7},     {"theta", 0x3b8},   {"kappa", 0x3ba},
    {"lambda", 0x3bb},  {"mu", 0x3bc},      {"nu", 0x3bd},      {"xi", 0x3be},      {"pi", 0x3c0},
    {"rho", 0x3c1},     {"sigma", 0x3c3},   {"tau", 0x3c4},     {"phi", 0x3c6},     {"chi", 0x3c7},
    {"psi", 0x3c8},     {"omega", 0x3c9},
};

constexpr std::size_t kLongest = 32;  // the longest of HTML's names

}  // namespace

void append_entity(std::string& out, std::string_view entity) {
  if (entity.size() < 3) {
    out += entity;
    return;
  }
  std::string_view name = entity.substr(1, entity.size() - 2);
  if (name.front() == '#') {
    name.remove_prefix(1);
    const bool hex = !name.empty() && (name.front() == 'x' || name.front() == 'X');
    if (hex) name.remove_prefix(1);
    std::uint32_t code_point = 0;
    const auto result = std::from_chars(name.data(), name.data() + name.size(), code_point, hex ? 16 : 10);
    append_utf8(out, result.ec == std::errc() ? code_point : 0);
    return;
  }
  const auto known =
      std::ranges::find_if(kNamedCharacters, [&](const NamedCharacter& each) { return each.name == name; });
  if (known == std::end(kNamedCharacters)) {
    out += entity;
  } else {
    append_utf8(out, known->code_point);
  }
}

std::string_view entity_at(std::string_view text) {
  const std::size_t end = text.substr(0, kLongest + 2).find(';');
  if (text.empty() || text.front() != '&' || end == std::string_view::npos || end < 2) return {};
  const std::string_view name = text.substr(1, end - 1);
  const bool is_name = std::ranges::all_of(name, [&](const char& c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c == '#' && &c == name.data());
  });
  return is_name && name != "#" ? text.substr(0, end + 1) : std::string_view();
}

}  // namespace isobar
