#include "text/lesson_page.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "core/find.h"

namespace isobar {
namespace {

constexpr std::size_t kShortest = 3;  // shorter names, such as n, are letters of formulas too

// Names of columns and states that mean in running text what they mean everywhere.
constexpr std::string_view kEveryday[] = {"busy",    "copy",       "data",  "device",   "key",  "lesson",
                                          "line",    "load",       "lost",  "misc",     "note", "other",
                                          "rest",    "run",        "same",  "state",    "step", "ready",
                                          "measure", "processors", "waits", "predicted"};

/// Other names of a term stand for columns of tables too ("what", "half"): only what no sentence holds by
/// chance is looked for, such as DDP, LayerNorm or bit-equal.
bool is_technical(std::string_view name) {
  return std::ranges::any_of(
      name, [](unsigned char c) { return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '-'; });
}

bool is_word_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0; }

char plain_letter(char c) {
  return c == '-' || c == '_' || c == '\n' ? ' '
                                           : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

std::string plain(std::string_view words) {
  std::string out(words);
  std::transform(out.begin(), out.end(), out.begin(), plain_letter);
  return out;
}

std::size_t word_end(std::string_view text, std::size_t at) {
  while (at < text.size() && is_word_letter(text[at])) ++at;
  return at;
}

/// Where `words` end that begin at `at` of the text, both plain; nothing where others stand there.
std::optional<std::size_t> match(std::string_view text, std::size_t at, std::string_view words) {
  if (text.substr(at, words.size()) != words) return std::nullopt;
  std::size_t end = at + words.size();
  if (end < text.size() && text[end] == 's' && word_end(text, end) == end + 1) ++end;
  if (end < text.size() && is_word_letter(text[end])) return std::nullopt;
  return end;
}

/// Without the `s` of a plural.
std::string singular(std::string word) {
  if (word.size() > kShortest && word.back() == 's') word.pop_back();
  return word;
}

/// The bold words that a paragraph begins with; "" = it begins otherwise.
std::string bold_head(const MarkdownBlock& block) {
  if (block.kind != MarkdownBlock::Kind::paragraph || block.spans.empty() || !block.spans.front().bold)
    return "";
  std::string out;  // a word of the glossary is a span of its own
  for (const TextSpan& span : block.spans) {
    if (!span.bold) break;
    out += span.text;
  }
  if (out.ends_with('.')) out.pop_back();
  return out;
}

}  // namespace

GlossaryWords::GlossaryWords(const Glossary& glossary) {
  for (const Term& term : glossary) {
    std::vector<std::string> all = {term.name};
    std::ranges::copy_if(term.also, std::back_inserter(all), is_technical);
    for (const std::string& name : all) {
      if (name.size() < kShortest || holds(kEveryday, name)) continue;
      const std::string words = plain(name);
      names_[singular(words.substr(0, word_end(words, 0)))].push_back(
          {&name == &all.front() ? "" : name, words, notes_.size()});
    }
    notes_.push_back(term.name + ": " + term.text);
  }
  for (auto& [first, names] : names_) {
    std::ranges::stable_sort(
        names, [](const Name& one, const Name& other) { return one.words.size() > other.words.size(); });
  }
}

std::optional<GlossaryWords::Place> GlossaryWords::name_at(std::string_view written, std::string_view text,
                                                           std::size_t at) const {
  const std::size_t end = word_end(text, at);
  const std::vector<Name>* const known = find_in(names_, singular(std::string(text.substr(at, end - at))));
  if (end == at || known == nullptr) return std::nullopt;
  for (const Name& name : *known) {
    const std::optional<std::size_t> name_end = match(text, at, name.words);
    if (name_end && written.substr(at, name.exact.size()) == name.exact)
      return Place{name.term, at, *name_end};
  }
  return std::nullopt;
}

/// The spans that one falls into: those of new terms, and what stands between them.
void GlossaryWords::mark_span(const TextSpan& span, std::vector<bool>& seen,
                              std::vector<TextSpan>& out) const {
  const std::string text = plain(span.text);
  std::size_t done = 0;
  const auto add = [&](std::size_t begin, std::size_t end, const std::string& note) {
    if (begin == end) return;
    out.push_back(span);
    out.back().text = span.text.substr(begin, end - begin);
    out.back().note = note;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::optional<Place> place = name_at(span.text, text, at);
    if (place && !seen[place->term]) {
      seen[place->term] = true;
      add(done, place->begin, "");
      add(place->begin, place->end, notes_[place->term]);
      done = place->end;
    }
    at = place ? place->end : std::max(word_end(text, at), at + 1);
  }
  add(done, text.size(), "");
}

void GlossaryWords::mark(std::vector<MarkdownBlock>& blocks) const {
  using Kind = MarkdownBlock::Kind;
  std::vector<bool> seen(notes_.size());
  for (MarkdownBlock& block : blocks) {
    if (block.kind != Kind::paragraph && block.kind != Kind::item && block.kind != Kind::quote) continue;
    std::vector<TextSpan> marked;
    for (const TextSpan& span : block.spans) {
      if (span.code || !span.link.empty()) {
        marked.push_back(span);
      } else {
        mark_span(span, seen, marked);
      }
    }
    block.spans = std::move(marked);
  }
}

LessonPage read_lesson_page(std::string_view text, const GlossaryWords& glossary) {
  using Kind = MarkdownBlock::Kind;
  std::vector<MarkdownBlock> blocks = parse_markdown(text);
  glossary.mark(blocks);
  LessonPage out;
  std::string section;
  for (MarkdownBlock& block : blocks) {
    const bool is_heading = block.kind == Kind::heading && block.level <= 2;
    if (is_heading) section = block.level == 2 ? words_of(block.spans) : "";
    const bool is_read = section == "Claim" || section == "Picture" || section == "Idea";
    if (section == "Predict") continue;  // its questions are asked goal by goal
    if (section.empty() || block.kind == Kind::fold || !is_read) {
      if (!section.empty()) out.build.push_back(std::move(block));
      continue;
    }
    const std::string head = section == "Idea" ? bold_head(block) : "";
    const bool begins = is_heading || !head.empty();
    const bool is_bare =
        !out.pieces.empty() && out.pieces.back().title == "Idea" && out.pieces.back().blocks.size() == 1;
    if (begins && !head.empty() && is_bare) {
      out.pieces.back() = {head};  // its bold words are heading enough
    } else if (begins) {
      out.pieces.push_back({head.empty() ? section : head});
    }
    out.pieces.back().blocks.push_back(std::move(block));
  }
  return out;
}

}  // namespace isobar
