#include "text/lesson_page.h"

#include <algorithm>
#include <cctype>

namespace isobar {
namespace {

Beat beat_of_section(std::string title) {
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (title == "predict") return Beat::predict;
  if (title == "run" || title == "what to look at") return Beat::run;
  if (title == "break") return Beat::breaking;
  if (title == "build") return Beat::build;
  return Beat::read;
}

}  // namespace

const std::vector<MarkdownBlock>& LessonPage::of(Beat beat) const {
  static const std::vector<MarkdownBlock> kNone;
  const auto found = parts.find(beat);
  return found == parts.end() ? kNone : found->second;
}

LessonPage read_lesson_page(std::string_view text, const GlossaryWords& glossary) {
  using Kind = MarkdownBlock::Kind;
  std::vector<MarkdownBlock> blocks = parse_markdown(text);
  glossary.mark(blocks);
  LessonPage out;
  Beat beat = Beat::read;
  for (MarkdownBlock& block : blocks) {
    if (block.kind == Kind::heading && block.level == 2) beat = beat_of_section(words_of(block.spans));
    if (block.kind == Kind::fold) beat = Beat::read;
    out.parts[beat].push_back(std::move(block));
  }
  return out;
}

}  // namespace isobar
