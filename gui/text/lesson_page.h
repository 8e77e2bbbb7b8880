#pragma once
// A lesson's page, taken apart into what each part of the lesson shows; words of the glossary in it have
// their meaning.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/glossary.h"
#include "text/markdown.h"

namespace isobar {

/// Terms of the glossary by their first words, ready to be looked for.
class GlossaryWords {
 public:
  explicit GlossaryWords(const Glossary& glossary);

  /// Gives the first place of each term in running text its meaning: not in headings, code, links and
  /// pictures. A term may stand in the plural.
  void mark(std::vector<MarkdownBlock>& blocks) const;

 private:
  struct Name {
    std::string exact;     ///< its exact form, where its capitals count; else ""
    std::string words;     ///< in small letters, blanks and hyphens alike as ' '
    std::size_t term = 0;  ///< index in `notes_`
  };

  struct Place {
    std::size_t term = 0, begin = 0, end = 0;
  };

  /// `text` is `written` with plain letters.
  std::optional<Place> name_at(std::string_view written, std::string_view text, std::size_t at) const;
  void mark_span(const TextSpan& span, std::vector<bool>& seen, std::vector<TextSpan>& out) const;

  std::map<std::string, std::vector<Name>> names_;  ///< by first word, the longest first
  std::vector<std::string> notes_;
};

struct LessonPage {
  struct Piece {
    std::string title;  ///< as page_pieces has it
    std::vector<MarkdownBlock> blocks = {};
  };
  std::vector<Piece> pieces;         ///< Claim, Picture, and the Idea taken apart
  std::vector<MarkdownBlock> build;  ///< the sections behind them, and what is folded
};

LessonPage read_lesson_page(std::string_view text, const GlossaryWords& glossary);

}  // namespace isobar
