#include <algorithm>

#include "analyse/glossary.h"
#include "cli/commands.h"
#include "cli/report.h"

namespace isobar {

namespace {

Report term_report(const Term& term, std::size_t columns) {
  Report out;
  out.json = {{"term", term.name}, {"text", term.text}, {"also", term.also}, {"see", term.see}};
  out.line(term.name);
  std::vector<std::string> parts = {term.text};
  if (!term.also.empty()) parts.push_back("also: " + joined(term.also));
  if (!term.see.empty()) parts.push_back("see: " + joined(term.see));
  for (const std::string& part : parts) out.wrapped("", part, columns);
  return out;
}

/// All of them, from top to bottom in as many columns as fit.
Report list_report(const Glossary& glossary, std::size_t columns) {
  Report out;
  std::vector<std::string> names;
  std::size_t width = 0;
  for (const Term& term : glossary) {
    names.push_back(term.name);
    width = std::max(width, term.name.size() + 2);
  }
  const std::size_t across = std::max<std::size_t>(1, (columns - 2) / width);
  const std::size_t rows = (names.size() + across - 1) / across;
  for (std::size_t row = 0; row < rows; ++row) {
    std::string line = "  ";
    for (std::size_t i = row; i < names.size(); i += rows)
      line += names[i] + std::string(i + rows < names.size() ? width - names[i].size() : 0, ' ');
    out.line(line);
  }
  out.line("./isobar explain WORD... says what one means and how its figure is made");
  out.json = {{"terms", names}};
  return out;
}

}  // namespace

int explain_command(const Words& words) {
  Words asked;
  bool json = false;
  OptionParser app("What a word or unit that programs print means, and how its figure is made",
                   "./isobar explain");
  app.add("WORD", asked, "a term, such as MFU or peak memory; without one all are listed");
  app.flag("--json", json, "one JSON object instead of the text");
  if (!app.parse(words)) return 0;
  const Glossary glossary = read_glossary(project_home());
  const std::size_t columns = std::clamp<std::size_t>(terminal_columns(), 40, 100);
  const Report report = asked.empty() ? list_report(glossary, columns)
                                      : term_report(find_term(glossary, joined(asked, " ")), columns);
  report.print(json);
  return 0;
}

}  // namespace isobar
