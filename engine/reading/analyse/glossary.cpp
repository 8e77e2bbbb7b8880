#include "analyse/glossary.h"

#include <algorithm>
#include <span>

#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::uint64_t kMostBytes = 1 << 20;

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> out;
  for (const std::string& one : split(list, ',')) {
    if (const std::string_view name = trimmed(one); !name.empty()) out.emplace_back(name);
  }
  return out;
}

std::string plain(std::string_view name) {
  std::string out = lowered(name);
  std::ranges::replace_if(
      out, [](char c) { return c == '\t' || c == '-' || c == '_'; }, ' ');
  out.erase(std::ranges::unique(out, [](char a, char b) { return a == ' ' && b == ' '; }).begin(), out.end());
  return std::string(trimmed(out));
}

/// Null where there is none of this name.
const Term* term_named(const Glossary& glossary, const std::string& name) {
  const auto is_wanted = [wanted = plain(name)](const std::string& one) { return plain(one) == wanted; };
  if (const Term* const term = find_where(glossary, [&](const Term& one) { return is_wanted(one.name); }))
    return term;
  return find_where(glossary, [&](const Term& one) { return std::ranges::any_of(one.also, is_wanted); });
}

}  // namespace

Glossary parse_glossary(std::string_view text, const std::string& where) {
  constexpr std::string_view kHead = "## ", kAlso = "also:", kSee = "see:";
  Glossary out;
  for (const std::string& whole : split(text, '\n')) {
    const std::string_view line = trimmed(whole);
    if (line.starts_with(kHead)) {
      out.emplace_back().name = trimmed(line.substr(kHead.size()));
    } else if (out.empty() || line.empty()) {
      continue;
    } else if (line.starts_with(kAlso)) {
      out.back().also = names_in(line.substr(kAlso.size()));
    } else if (line.starts_with(kSee)) {
      out.back().see = names_in(line.substr(kSee.size()));
    } else {
      out.back().text.append(out.back().text.empty() ? "" : " ").append(line);
    }
  }
  if (out.empty()) throw Error("the glossary has no terms", where, "each is a section that begins with ## ");
  for (const Term& term : out) {
    if (term.text.empty())
      throw Error("a term of the glossary is not explained: \"" + printable(term.name, 80) + "\"", where, "");
  }
  return out;
}

Glossary read_glossary(const std::filesystem::path& home) {
  const std::filesystem::path file = home / "lessons/glossary.md";
  return parse_glossary(printable_lines(read_text_file(file, kMostBytes)), file.string());
}

const Term& find_term(const Glossary& glossary, const std::string& name) {
  if (const Term* const term = term_named(glossary, name)) return *term;
  std::vector<std::string> known;
  for (const Term& term : glossary) {
    known.push_back(plain(term.name));
    for (const std::string& other : term.also) known.push_back(plain(other));
  }
  const std::string nearest = nearest_name(plain(name), known);
  throw Error("the glossary does not know \"" + printable(name, 80) + "\"", "./isobar explain",
              (nearest.empty() ? "" : "did you mean " + nearest + "? ") + "./isobar explain lists all terms");
}

std::vector<const Term*> find_terms(const Glossary& glossary, const std::vector<std::string>& words) {
  std::vector<const Term*> out;
  for (std::span left(words); !left.empty();) {
    std::size_t count = left.size();
    while (count > 0 && term_named(glossary, joined(left.first(count), " ")) == nullptr) --count;
    out.push_back(&find_term(glossary, count == 0 ? joined(words, " ") : joined(left.first(count), " ")));
    left = left.subspan(count);
  }
  return out;
}

}  // namespace isobar
