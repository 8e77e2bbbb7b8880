#include <algorithm>
#include <random>

#include "core/files.h"
#include "core/utf8.h"
#include "support/catch.h"
#include "text/line_break.h"
#include "text/markdown.h"

using namespace isobar;
using Kind = MarkdownBlock::Kind;

namespace {

std::string plain(const std::vector<TextSpan>& spans) {
  std::string out;
  for (const TextSpan& span : spans) out += span.text;
  return out;
}

// Spans as "[b]bold|[c]code|[>target]link".
std::string styled(const std::vector<TextSpan>& spans) {
  std::string out;
  for (const TextSpan& span : spans) {
    if (!out.empty()) out += "|";
    std::string style;
    if (span.bold) style += "b";
    if (span.italic) style += "i";
    if (span.code) style += "c";
    if (!span.link.empty()) style += ">" + span.link;
    out += style.empty() ? span.text : "[" + style + "]" + span.text;
  }
  return out;
}

// One line a block: kind, level, marker, text.
std::string outline(std::string_view text) {
  static constexpr const char* kNames[] = {"heading", "paragraph", "code",  "item", "table",
                                           "quote",   "rule",      "image", "fold", "fold_end"};
  std::string out;
  for (const MarkdownBlock& block : parse_markdown(text)) {
    out += std::string(kNames[static_cast<std::size_t>(block.kind)]) + " " + std::to_string(block.level);
    if (!block.marker.empty()) out += " " + block.marker;
    const std::string words = styled(block.spans) + block.code + block.target;
    if (!words.empty()) out += " " + words;
    out += "\n";
  }
  return out;
}

std::string repeated(std::string_view piece, std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += piece;
  return out;
}

bool is_valid(const std::vector<TextSpan>& spans) {
  return std::all_of(spans.begin(), spans.end(),
                     [](const TextSpan& span) { return clean_utf8(span.text) == span.text; });
}

}  // namespace

TEST_CASE("headings and paragraphs; a soft line break is a space, a hard one stays") {
  CHECK(outline("# One\ntwo\nthree  \nfour\\\nfive\n\n###### Six #\n\n---\n") ==
        "heading 1 One\nparagraph 0 two three\nfour\nfive\nheading 6 Six\nrule 0\n");
  CHECK(outline("Title\r\n=====\r\na\r\nb\r\n") == "heading 1 Title\nparagraph 0 a b\n");
  CHECK(outline("").empty());
}

TEST_CASE("styles of text, and one span where the style is one") {
  CHECK(outline("a *i* **b** ***bi*** `c *x*` [t **u**](v.md) z") ==
        "paragraph 0 a |[i]i| |[b]b| |[bi]bi| |[c]c *x*| |[>v.md]t |[b>v.md]u| z\n");
  CHECK(outline("one\ntwo &lt;three") == "paragraph 0 one two <three\n");
  CHECK(
      outline("see https://a.example/b and <c@d.example>") ==
      "paragraph 0 see |[>https://a.example/b]https://a.example/b| and |[>mailto:c@d.example]c@d.example\n");
}

TEST_CASE("entities are decoded, unknown ones stay") {
  CHECK(outline("&amp;&lt;&gt;&quot;a&nbsp;b&#65;&#x42; &nosuch; & &#0;&#xD800;") ==
        "paragraph 0 &<>\"a\xc2\xa0"
        "bAB &nosuch; & \xef\xbf\xbd\xef\xbf\xbd\n");
  CHECK(outline("`&amp;` [x](a&amp;b)") == "paragraph 0 [c]&amp;| |[>a&b]x\n");
  CHECK(outline("![x](a&nbsp;b&lt;c.png)") ==
        "image 0 xa\xc2\xa0"
        "b<c.png\n");
}

TEST_CASE("lists: markers, depth, what else stands in an item") {
  CHECK(outline("- a\n- b\n  1. c\n  2. d\n- e\n") ==
        "item 1 • a\nitem 1 • b\nitem 2 1. c\nitem 2 2. d\nitem 1 • e\n");
  CHECK(outline("7) a\n\n   more\n\n       x\n8) b\n") ==
        "item 1 7. a\nitem 1 more\ncode 1 x\nitem 1 8. b\n");
  CHECK(outline("-\n- - a\n- # h\n") == "item 1 •\nitem 1 •\nitem 2 • a\nitem 1 •\nheading 1 h\n");
  CHECK(outline("- a\n\nend") == "item 1 • a\nparagraph 0 end\n");
}

TEST_CASE("quotes, code and raw HTML") {
  CHECK(outline("> a\n> > b\n>\n> - c\n\nd") == "quote 1 a\nquote 2 b\nitem 1 • c\nparagraph 0 d\n");
  const auto blocks = parse_markdown("```cpp extra\nint a;\n\n  b < &amp;\n```\n\n    plain\n");
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].kind == Kind::code);
  CHECK(blocks[0].language == "cpp");
  CHECK(blocks[0].code == "int a;\n\n  b < &amp;");
  CHECK(blocks[1].code == "plain");
  CHECK(blocks[1].language.empty());
  CHECK(outline("a <b>c</b>\n\n<div>\n*x*\n</div>\n") ==
        "paragraph 0 a <b>c</b>\nparagraph 0 <div>\n*x*\n</div>\n");
}

TEST_CASE("what stands between <details> and its end can be folded, and is Markdown all the same") {
  CHECK(outline(
            "a\n\n<details><summary>Settings</summary>\n\n| a | b |\n|---|---|\n\n*c*\n\n</details>\n\nd") ==
        "paragraph 0 a\nfold 0 Settings\ntable 0\nparagraph 0 [i]c\nfold_end 0\nparagraph 0 d\n");
  CHECK(outline("<DETAILS open>\n<Summary> How </Summary>\nraw\n</DETAILS>\n") ==
        "fold 0 How\nparagraph 0 raw\nfold_end 0\n");
  CHECK(outline("<details>\n\nx\n") == "fold 0 More\nparagraph 0 x\n");
  CHECK(outline("<details><summary>one\n\nx\n") == "fold 0 one\nparagraph 0 x\n");
  CHECK(outline("</details>\n\n<detailsx>\n") == "fold_end 0\nparagraph 0 <detailsx>\n");
  CHECK(outline("- a\n\n  <details><summary>s</summary>\n\n  b\n\n  </details>\n") ==
        "item 1 • a\nfold 0 s\nitem 1 b\nfold_end 0\n");
}

TEST_CASE("an image is a block of its own between the text around it") {
  CHECK(outline("before ![a *b*](c.png) after") ==
        "paragraph 0 before\nimage 0 a |[i]bc.png\nparagraph 0 after\n");
  CHECK(outline("- ![x](y.svg)\n") == "item 1 •\nimage 1 xy.svg\n");
  CHECK(outline("# T ![x](y.svg) U\n") == "heading 1 T |[>y.svg]x| U\n");
  CHECK(outline("![a ![b](c) d](e)\n") == "image 0 a b de\n");
}

TEST_CASE("tables: rows of cells of spans") {
  const auto blocks = parse_markdown("| a | **b** |\n|---|:-:|\n| `x\\|y` | |\n| 1 | 2 | 3 |\n");
  REQUIRE(blocks.size() == 1);
  REQUIRE(blocks[0].kind == Kind::table);
  REQUIRE(blocks[0].rows.size() == 3);
  CHECK(styled(blocks[0].rows[0].at(1)) == "[b]b");
  CHECK(styled(blocks[0].rows[1].at(0)) == "[c]x|y");
  CHECK(blocks[0].rows[1].at(1).empty());
  REQUIRE(blocks[0].rows[2].size() == 2);
  CHECK(plain(blocks[0].rows[2][1]) == "2");
}

TEST_CASE("the text of the first lesson is read as a person reads it") {
  const auto blocks =
      parse_markdown(read_text_file(project_home() / "lessons/01_baseline/README.md", 1 << 20));
  std::vector<std::string> headings, folds;
  int pictures = 0;
  bool runs_it = false, links_code = false;
  for (const MarkdownBlock& block : blocks) {
    if (block.kind == Kind::heading)
      headings.push_back(std::to_string(block.level) + " " + plain(block.spans));
    if (block.kind == Kind::fold) folds.push_back(plain(block.spans));
    if (block.kind == Kind::image) {
      ++pictures;
      CHECK(plain(block.spans).size() > 20);
      CHECK(block.target.ends_with(".svg"));
    }
    runs_it = runs_it || (block.kind == Kind::code && block.code.rfind("./isobar run 01_baseline", 0) == 0);
    links_code = links_code || std::any_of(block.spans.begin(), block.spans.end(),
                                           [](const TextSpan& span) { return span.link == "main.cpp"; });
  }
  CHECK(headings == std::vector<std::string>{"1 01 Baseline: the plain loop", "2 Claim", "2 Picture",
                                             "2 Idea", "2 Predict", "2 Run", "2 What to look at", "2 Break",
                                             "2 Build"});
  CHECK(std::count(folds.begin(), folds.end(), "Settings") == 1);
  CHECK(std::count(folds.begin(), folds.end(), "How it is proven") == 1);
  CHECK(pictures > 0);
  CHECK(runs_it);
  CHECK(links_code);
}

TEST_CASE("what is no text becomes text") {
  using namespace std::string_literals;
  CHECK(outline("a\0b\xff\xc3 \xed\xa0\x80 é"s) ==
        "paragraph 0 a\xef\xbf\xbd"
        "b\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd é\n");
  CHECK(outline("```\na\0b\n```"s) ==
        "code 0 a\xef\xbf\xbd"
        "b\n");
  CHECK(clean_utf8("\xf0\x9f\x98\x80\xf4\x90\x80\x80") ==
        "\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("hostile texts neither crash nor hang") {
  for (const char* piece :
       {"[", ">",    "> ", "- ", "1. ", "*", "**a ", "`", "``a`", "![", "[a](",     "]",  "[a][a]",
        "<", "<!--", "<?", "&#", "_a",  "|", "\\",   "(", "#",    "\t", "https://", "\r", "*a_ "}) {
    CAPTURE(piece);
    parse_markdown(repeated(piece, 1'000'000));  // what takes the square of its length takes far too long
  }
  const auto deep = parse_markdown(std::string(100'000, '>') + "a");
  REQUIRE(deep.size() == 1);
  CHECK(deep[0].level == 100);
  parse_markdown(std::string(100'000, '\0'));
  for (const char* mark : {"- ", "1. ", "> ", "-\t"}) {
    parse_markdown(repeated(mark, 500'000) + "a\n" + repeated("\n", 500'000));
  }
  std::string stairs;
  for (std::size_t depth = 0; depth < 700; ++depth) stairs += std::string(2 * depth, ' ') + "- a\n";
  parse_markdown(stairs + repeated("\n", 500'000));
}

TEST_CASE("marks of lists and quotes beyond the hundredth of a line are plain text") {
  CHECK(with_bounded_nesting("> - 1. a\n>b", 3) == "> - 1. a\n>b");
  CHECK(with_bounded_nesting("> - 1. a\n>>b\r\n- - c", 1) == "> \\- 1. a\n>\\>b\r\n- \\- c");
  CHECK(with_bounded_nesting("--- 1.5 *a* -\n", 0) == "--- 1.5 *a* -\n");
  CHECK(outline(std::string(101, '>') + "a") == "quote 100 >a\n");
}

std::size_t laid_out_bytes(const std::vector<TextSpan>& spans) {
  std::size_t sum = sizeof(spans);
  for (const TextSpan& span : spans) sum += sizeof(span) + span.text.size() + span.link.size();
  return sum;
}

TEST_CASE("a text that grows when laid out is cut and says so, or left as it was written by md4c 0.5") {
  const std::string address(100'000, 'x');
  const std::string wide =
      repeated("|x", 40'000) + "\n" + repeated("|---", 80'000) + "\n" + repeated("|x|\n", 100'000);
  for (const std::string& text : {"[a]: " + address + "\n\n" + repeated("[a] ", 400'000), wide}) {
    const auto blocks = parse_markdown(text);
    REQUIRE_FALSE(blocks.empty());
    std::size_t bytes = 0;
    for (const MarkdownBlock& block : blocks) {
      bytes += laid_out_bytes(block.spans);
      for (const auto& row : block.rows)
        for (const auto& cell : row) bytes += laid_out_bytes(cell);
    }
    CAPTURE(bytes);
    CHECK(bytes < 400'000'000);  // all of it would be 40 GB of links, or 4,000 million cells
    if (bytes > 10 * text.size()) CHECK(plain(blocks.back().spans).find("not shown") != std::string::npos);
  }
}

TEST_CASE("random texts of the marks of Markdown are read to the end") {
  std::mt19937 random(11);
  const std::vector<std::string> pieces = {"a",  " ", "\n",   "\n\n",        "*",   "**", "_", "`",  "```\n",
                                           "[",  "]", "(",    ")",           "!",   "> ", "-", "- ", "1. ",
                                           "# ", "|", "|-|",  "\\",          "&",   ";",  "<", ">",  "#",
                                           "\t", "é", "\xff", "http://x.y/", "    "};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    const std::size_t length = random() % 60;
    for (std::size_t i = 0; i < length; ++i) text += pieces[random() % pieces.size()];
    for (const MarkdownBlock& block : parse_markdown(text)) {
      REQUIRE(is_valid(block.spans));
      REQUIRE((block.kind != Kind::item || block.level > 0));
    }
  }
}

TEST_CASE("a word that no line holds is cut behind a sign, or where the line is full") {
  const auto width = [](std::string_view stretch) { return static_cast<float>(stretch.size()); };
  const auto lines = [&](std::string_view text, float room) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = end_of_word(text, at, room, width);
      REQUIRE(end > at);
      out.emplace_back(text.substr(at, end - at));
      at = end;
    }
    return out;
  };
  using Lines = std::vector<std::string>;
  CHECK(lines("two words", 5) == Lines{"two", " words"});
  CHECK(lines("make_gradient_sync(parameters", 20) == Lines{"make_gradient_sync(", "parameters"});
  CHECK(lines("a abcdefghij", 4) == Lines{"a", " abcd", "efgh", "ij"});
  CHECK(lines("abc", 0) == Lines{"a", "b", "c"});
  CHECK(lines("\xc3\xa4\xc3\xb6", 1) == Lines{"\xc3\xa4", "\xc3\xb6"});
  CHECK(lines("\xff\xfe", 1) == Lines{"\xff", "\xfe"});
  CHECK(lines(std::string(100'000, 'x'), 500).size() == 200);
}

TEST_CASE("Lines end between words, within one only where no line holds it") {
  const auto width = [](std::string_view part) { return static_cast<float>(part.size()); };
  CHECK(in_lines("the others took 9.7 ms\nin main.cpp", 18, width) == "the others took\n9.7 ms\nin main.cpp");
  CHECK(in_lines("in lessons/01_baseline/main.cpp", 16, width) == "in lessons/01_\nbaseline/main.\ncpp");
  CHECK(in_lines("memory 31 %, attention 9 % of it", 24, width) == "memory 31 %, attention\n9 % of it");
  CHECK(in_lines("", 5, width).empty());
}

TEST_CASE("A line of code is broken at blanks, and none of it is lost") {
  const auto rows = [](std::string_view line, std::size_t columns) {
    std::vector<std::string> out;
    for (const CodeRow& row : code_rows(line, columns, 4))
      out.emplace_back(line.substr(row.begin, row.end - row.begin));
    return out;
  };
  using Rows = std::vector<std::string>;
  CHECK(rows("./isobar run 01", 40) == Rows{"./isobar run 01"});
  CHECK(rows("./isobar run 01", 15) == Rows{"./isobar run 01"});
  CHECK(rows("./isobar run 01 --set a=1 --set b=2", 20) == Rows{"./isobar run 01", "--set a=1", "--set b=2"});
  CHECK(rows("./isobar run 01     # the first of them", 24) ==
        Rows{"./isobar run 01", "# the first of them"});
  CHECK(rows("int a = 1;  // one", 13) == Rows{"int a = 1;", "// one"});
  CHECK(rows("one two three", 9) == Rows{"one two", "three"});
  CHECK(rows("    aaaaaaaaaaaaaaaaaaaa", 12) == Rows{"    aaaaaaaa", "aaaaaaaa", "aaaa"});
  CHECK(rows("", 12) == Rows{""});
  CHECK(rows("a              ", 8) == Rows{"a       "});
  CHECK(rows("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xb6", 8).front() ==
        "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
  CHECK(rows(std::string(1000, '\xff'), 0).size() == 125);  // no bytes of text, no room: it ends all the same
}
