#pragma once
// The words that programs print, with what each means, from lessons/glossary.md.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

struct Term {
  std::string name;               ///< "peak memory"
  std::string text;               ///< sentences, on one line
  std::vector<std::string> also;  ///< other names of it
  std::vector<std::string> see;   ///< names of related terms
};

/// Terms in the order of the file.
using Glossary = std::vector<Term>;

/// A section "## Term" each, of paragraphs and the lines "also: a, b" and "see: a, b"; what stands before the
/// first one is left out. `where` is named in Errors (exit code 2): no section, one without a text.
Glossary parse_glossary(std::string_view text, const std::string& where);
/// The project's glossary.
Glossary read_glossary(const std::filesystem::path& home);

/// The term with this name, upper or lower case, '-' and '_' as good as a blank; first by its own name, then
/// by another. Error (exit code 2) with the nearest one.
const Term& find_term(const Glossary& glossary, const std::string& name);

/// The terms that the words name one after the other: as many words for each as one term has.
std::vector<const Term*> find_terms(const Glossary& glossary, const std::vector<std::string>& words);

}  // namespace isobar
