#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/utf8.h"

namespace isobar {

namespace {

/// "12.3 M", for a unit behind it.
std::string with_prefix(double value) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, kPrefixes[prefix]);
}

}  // namespace

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  return with_prefix(static_cast<double>(bytes)) + "B";
}

std::string human_flops(double flops_per_s) {
  return std::isfinite(flops_per_s) && flops_per_s >= 0 ? with_prefix(flops_per_s) + "FLOP/s" : "?";
}

std::string human_seconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(std::min(seconds, 1e12)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string about_seconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const double exact_to = seconds < 20 ? 1 : seconds < 57.5 ? 5 : seconds < 3570 ? 60 : 300;
  const auto whole = static_cast<std::int64_t>(std::round(std::min(seconds, 1e12) / exact_to) * exact_to);
  if (whole < 60) return fmt::format("{} s", std::max<std::int64_t>(1, whole));
  if (whole < 3600) return fmt::format("{} min", whole / 60);
  return whole % 3600 == 0 ? fmt::format("{} h", whole / 3600)
                           : fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string human_count(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::size_t edit_distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  name = name.substr(0, 200);
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates,
                         const std::string& otherwise) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? otherwise : "did you mean " + nearest + "?";
}

std::string counted(std::int64_t count, std::string_view one) {
  const char* const ending = one.ends_with("batch") ? "es" : "s";
  return std::to_string(count) + " " + std::string(one) + (count == 1 ? "" : ending);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == separator) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

namespace {

bool is_plain(char c) { return c >= ' ' && c <= '~'; }

std::string cleaned(std::string_view text, std::size_t most, bool keeps_lines) {
  if (text.size() <= most && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string out;
  const std::size_t size = text.size();
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const bool shows =
        length > 0 && (!steers(code_point(text, length)) || (keeps_lines && text.front() == '\n'));
    const std::size_t taken = std::max<std::size_t>(length, 1);
    if (size - text.size() + taken > most) return out + "...";
    out += shows ? text.substr(0, taken) : std::string_view("?");
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  return cleaned(text, most, /*keeps_lines=*/false);
}

std::string printable_line(std::string_view text, std::size_t most) {
  return printable(text.substr(0, text.find('\n')), most);
}

std::string printable_lines(std::string_view text) {
  return cleaned(text, std::string_view::npos, /*keeps_lines=*/true);
}

std::string without_colours(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = std::min(text.find("\x1b[", at), text.size());
    out += text.substr(at, begin - at);
    const std::size_t end = text.find('m', begin);
    at = end == std::string_view::npos ? text.size() : end + 1;
  }
  return out;
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable_lines(text)) {
    out += c == '<'   ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '&' ? "&amp;"
           : c == '"' ? "&quot;"
                      : std::string(1, c);
  }
  return out;
}

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-';
}

std::string shell_quoted(std::string_view argument) {
  const auto plain = [](char c) {
    return is_name_letter(c) || (c != '\0' && std::strchr("/=,:@%+", c) != nullptr);
  };
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), plain)) return std::string(argument);
  std::string out = "'";
  for (const char c : argument) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::vector<std::string> wrapped(const std::string& text, std::size_t columns) {
  return wrapped(text, [columns](const std::string& line) { return line.size() <= columns; });
}

std::vector<std::string> wrapped(const std::string& text,
                                 const std::function<bool(const std::string&)>& fits) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (lines.empty() || !fits(lines.back() + " " + word)) {
      lines.push_back(word);
    } else {
      lines.back() += " " + word;
    }
    begin = end + 1;
  }
  return lines;
}

std::string sentence_case(std::string words) {
  if (!words.empty())
    words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return words;
}

}  // namespace isobar
