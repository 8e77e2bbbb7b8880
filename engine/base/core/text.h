#pragma once
// Small text helpers: numbers and times for people, names that were nearly right, unsafe characters.
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace isobar {

/// "12.3 MB" (1 MB = 1e6 bytes), "640 B".
std::string human_bytes(std::uint64_t bytes);

/// "989 TFLOP/s", "19.5 TFLOP/s", "235 GFLOP/s".
std::string human_flops(double flops_per_s);

/// "0.8 s", "42 s", "3 min 20 s", "2 h 05 min".
std::string human_seconds(double seconds);

/// An estimate, no more exact than one is: "5 s", "40 s", "27 min", "1 h 20 min".
std::string about_seconds(double seconds);

/// "23,832,960".
std::string human_count(std::int64_t value);

/// Edit distance (Levenshtein): insertions, deletions and replacements that turn one name into the other.
std::size_t edit_distance(std::string_view one, std::string_view other);

/// The candidate nearest to `name`, or "" when none is near enough to be what was meant
/// (more than a third of its letters differ).
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// "did you mean X?" of the nearest, or `otherwise` where none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates,
                         const std::string& otherwise);

/// "1 rank", "2 ranks".
std::string counted(std::int64_t count, std::string_view one);

/// `text` without the blanks (also tabs and ends of lines) around it.
std::string_view trimmed(std::string_view text);

/// ASCII letters in lower case.
std::string lowered(std::string_view text);

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words);

/// What stands between the separators: one more than there are of them.
std::vector<std::string> split(std::string_view text, char separator);

/// "1, 2, 3": whole numbers, or strings, of any range. fmt's join is compiled anew in every unit that uses
/// it.
template <class Range>
std::string joined(const Range& parts, std::string_view separator = ", ") {
  std::string out;
  bool is_first = true;
  for (const auto& part : parts) {
    if (!std::exchange(is_first, false)) out += separator;
    if constexpr (std::is_convertible_v<decltype(part), std::string_view>) {
      out += part;
    } else {
      static_assert(std::is_integral_v<std::decay_t<decltype(part)>>);
      out += std::to_string(part);
    }
  }
  return out;
}

/// What steers instead of showing (core/utf8.h) and what is no UTF-8 replaced by '?', cut to `most` bytes,
/// whole characters: for text that is not ours, of files, of other programs, names of files too, before it
/// goes to a terminal, the window or a picture.
std::string printable(std::string_view text, std::size_t most = 200);
/// `printable` of the first line.
std::string printable_line(std::string_view text, std::size_t most = 200);

/// "Continue." of "continue."
std::string sentence_case(std::string words);

/// `printable` of a text of several lines, which stay.
std::string printable_lines(std::string_view text);
/// Without the sequences that set colours of a terminal, ESC [ ... m.
std::string without_colours(std::string_view text);

/// `text`, made printable, for the inside of an XML element or attribute.
std::string xml_escaped(std::string_view text);

/// Whether a file that we name may have `c` in its name: letters, digits, '.', '_' and '-'.
bool is_name_letter(char c);

/// An argument as a shell would need it typed: quoted only when it holds more than letters, digits and
/// ._-/=,:@%+
std::string shell_quoted(std::string_view argument);

/// A sentence over as many lines as it takes, broken at spaces; only a word that is longer by itself makes a
/// line of more than `columns` letters.
std::vector<std::string> wrapped(const std::string& text, std::size_t columns);
/// Breaks into lines for which `fits` is true.
std::vector<std::string> wrapped(const std::string& text,
                                 const std::function<bool(const std::string&)>& fits);

}  // namespace isobar
