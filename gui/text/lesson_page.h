#pragma once
// A lesson's page, taken apart into what each beat shows.
#include <map>
#include <string>
#include <vector>

#include "course/course.h"
#include "text/glossary_marks.h"
#include "text/markdown.h"

namespace isobar {

struct LessonPage {
  /// The sections of each beat, in the order of the page; those that belong to none, and what is folded, are
  /// of `read`.
  std::map<Beat, std::vector<MarkdownBlock>> parts;

  const std::vector<MarkdownBlock>& of(Beat beat) const;
};

LessonPage read_lesson_page(std::string_view text, const GlossaryWords& glossary);

}  // namespace isobar
