#include "core/text.h"
#include "page/html.h"
#include "support/catch.h"
#include "support/count_of.h"
#include "support/hostile_text.h"
#include "support/says.h"

using namespace isobar;

namespace {

/// What a browser would take for markup, wherever it stands: in an element or in an attribute in double
/// quotes.
bool can_end_text(const std::string& text) { return text.find_first_of("<>\"") != std::string::npos; }

}  // namespace

TEST_CASE("no text becomes markup") {
  std::vector<std::string> texts = hostile_texts("/canary");
  for (const char* more :
       {"<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "</style><script>", "]]>", "<!--",
        "&lt;script&gt;", "javascript:alert(1)", "</title>", "<svg onload=alert(1)>"})
    texts.emplace_back(more);
  for (const std::string& text : texts) {
    INFO(text.substr(0, 200));
    CHECK_FALSE(can_end_text(xml_escaped(text)));
    Table table = {.caption = text, .columns = {text, text}};
    table.add({text, text});
    Html body;
    body.paragraph(text);
    body.command(text);
    body.begin_section("part", text);
    body.end_section();
    body.table(table);
    const std::string page = html_document(text, {{"part", text}}, body.markup());
    CHECK(count_of(page, "<script") == 0);
    CHECK(count_of(page, "<img") == 0);
    CHECK(count_of(page, "</style>") == 1);
    CHECK(count_of(page, "<svg") == 0);
    CHECK(count_of(page, "<title>") == 1);
  }
}

TEST_CASE("a table has its heads, names its rows, and is nothing without rows") {
  Table table = {.caption = "what it is", .columns = {"run", "samples/s"}};
  Html page;
  page.table(table);
  CHECK(page.markup().empty());
  table.add({"A", "12.5"});
  page.table(table);
  const std::string& markup = page.markup();
  CHECK_THAT(markup, says("<caption>what it is</caption>"));
  CHECK_THAT(markup, says("<th scope=\"col\">run</th><th scope=\"col\" class=\"n\">samples/s</th>"));
  CHECK_THAT(markup, says("<th scope=\"row\">A</th><td class=\"n\">12.5</td>"));
}

TEST_CASE("the style knows light, dark and paper, and a figure's colours in the dark") {
  const std::string style = page_style();
  CHECK_THAT(style, says("@media screen and (prefers-color-scheme:dark)"));
  CHECK_THAT(style, says("@media print"));
  CHECK_THAT(style, says("svg [fill^=\"#\"][style]{fill:var(--dark)}"));
  CHECK(style.find("url(") == std::string::npos);
  CHECK(style.find("@import") == std::string::npos);
}
