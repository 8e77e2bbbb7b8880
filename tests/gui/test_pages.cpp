// Pages of lessons: their pieces, words of the glossary, where links lead.
#include "core/files.h"
#include "state/links.h"
#include "support/catch.h"
#include "support/temp_folder.h"
#include "text/lesson_page.h"
#include "text/markdown.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

Glossary small_glossary() {
  return parse_glossary(
      "## bucket\n\nGradients sent together.\n\n## all-reduce\n\nA sum over ranks.\n\nalso: half, "
      "one-shot, FULL\n\n"
      "## data\n\nA class of time.\n\n"
      "## peak memory\n\nThe most.\n",
      "glossary.md");
}

/// "word=meaning" of each span that has one.
std::string noted(const std::string& text) {
  std::vector<MarkdownBlock> blocks = parse_markdown(text);
  GlossaryWords(small_glossary()).mark(blocks);
  std::string out;
  for (const MarkdownBlock& block : blocks) {
    for (const TextSpan& span : block.spans) {
      if (!span.note.empty()) out += span.text + "=" + span.note.substr(0, span.note.find(':')) + ";";
    }
  }
  return out;
}

std::string words_in(const std::string& text) {
  std::vector<MarkdownBlock> blocks = parse_markdown(text);
  GlossaryWords(small_glossary()).mark(blocks);
  std::string out;
  for (const MarkdownBlock& block : blocks) out += words_of(block.spans) + "|";
  return out;
}

struct LinkFolder {
  LinkFolder() {
    for (const char* const folder : {"home/lessons/01_a", "home/lessons/02_b", "home/engine", "elsewhere"})
      fs::create_directories(files / folder);
    for (const char* const file :
         {"home/lessons/01_a/README.md", "home/lessons/02_b/README.md", "home/lessons/02_b/reveal.md",
          "home/lessons/02_b/main.cpp", "home/engine/x.cpp", "elsewhere/secret"})
      write_file_whole(files / file, std::string_view("text\n"));
    fs::create_symlink(files / "elsewhere/secret", files / "home/engine/way_out");
  }
  LinkTarget follow(const std::string& link) const {
    return link_target(files / "home", files / "home/lessons/01_a", {"01_a", "02_b"}, link);
  }
  TempFolder files;
};

using Kind = LinkTarget::Kind;

}  // namespace

TEST_CASE("The first place of a term in running text has its meaning") {
  CHECK(noted("A bucket, two buckets.") == "bucket=bucket;");
  CHECK(noted("The All-reduce of one shot, a full half of all data") == "All-reduce=all-reduce;");
  CHECK(noted("all reduces of peak\nmemory") == "all reduces=all-reduce;peak memory=peak memory;");
  CHECK(noted("buckety, `bucket`, [bucket](x.md)\n\n# bucket\n").empty());
  CHECK(noted("- **bucket**\n\n> peak_memory") == "bucket=bucket;peak_memory=peak memory;");
  CHECK(words_in("a bucket, *b* all-reduce.\n\npeak memory") == "a bucket, b all-reduce.|peak memory|");
  CHECK(noted("a one-shot sum") == "one-shot=all-reduce;");
  CHECK(noted("FULL") == "FULL=all-reduce;");
  CHECK(noted("").empty());
}

TEST_CASE("A page is taken apart: what is read piece by piece, and what stands in the last part") {
  const LessonPage page = read_lesson_page(
      "# 02 Title\n\nunder it\n\n## Claim\n\nc\n\n## Picture\n\np\n\n## Idea\n\n**The bucket loss.** l\n\nm "
      "**not here** n\n\n"
      "**The gradient** g\n\n### Deeper\n\nd\n\n## Predict\n\nq\n\n## Run\n\nr\n\n## What to look at\n\nw\n\n"
      "## Break\n\nb\n\n<details><summary>Settings</summary>\n\ns\n\n</details>\n\nend\n",
      GlossaryWords(small_glossary()));
  const auto words = [](const std::vector<MarkdownBlock>& blocks) {
    std::string out;
    for (const MarkdownBlock& block : blocks) out += words_of(block.spans) + "|";
    return out;
  };
  std::vector<std::string> pieces;
  for (const LessonPage::Piece& piece : page.pieces)
    pieces.push_back(piece.title + ": " + words(piece.blocks));
  CHECK(pieces == std::vector<std::string>{"Claim: Claim|c|", "Picture: Picture|p|",
                                           "The bucket loss: The bucket loss. l|m not here n|",
                                           "The gradient: The gradient g|Deeper|d|"});
  CHECK(words(page.build) == "Run|r|What to look at|w|Break|b|Settings|s||end|");
}

TEST_CASE("An idea that does not begin with bold words is a piece of its own") {
  const LessonPage page = read_lesson_page("## Idea\n\nFirst.\n\n**The loss.** l\n", GlossaryWords({}));
  REQUIRE(page.pieces.size() == 2);
  CHECK(page.pieces[0].title == "Idea");
  CHECK(page.pieces[1].title == "The loss");
  CHECK(page.build.empty());
}

TEST_CASE("Links lead to the web, to lessons and into the project, and nowhere else") {
  const LinkFolder links;
  CHECK(links.follow("https://a.example/b?c=d#e").kind == Kind::web);
  CHECK(links.follow("http://a.example").text == "http://a.example");
  for (const char* const bad :
       {"", "file:///etc/passwd", "javascript:alert(1)", "ftp://a.example", "data:,x", "mailto:a@b.example",
        "https://a.example/ b", "https://a.example/\x1b[2J", "/etc/passwd", "../../../elsewhere/secret",
        "../../engine/way_out", "../../engine/nothing.cpp"}) {
    INFO(bad);
    CHECK(links.follow(bad).kind == Kind::nowhere);
    CHECK_FALSE(links.follow(bad).text.empty());
  }
  CHECK(links.follow("../02_b").text == "02_b");
  CHECK(links.follow("../02_b/README.md").kind == Kind::lesson);
  CHECK(links.follow("README.md").text == "01_a");
  CHECK(links.follow("../02_b/reveal.md").kind == Kind::reveal);
  const LinkTarget code = links.follow("../02_b/main.cpp#L7");
  CHECK(code.kind == Kind::file);
  CHECK(code.text == "lessons/02_b/main.cpp");
  CHECK(code.line == 7);
  CHECK(links.follow("../../engine/x.cpp#Lx").line == 0);
  CHECK(links.follow("../../engine").kind == Kind::folder);
  CHECK(links.follow("#what-to-look-at").section == "what-to-look-at");
  CHECK(section_name("What to look at: `a_b`!") == "what-to-look-at-a_b");
}

TEST_CASE("In a sentence only what stands between backticks is code") {
  const auto code = [](const std::string& sentence) {
    std::string out;
    for (const TextSpan& span : sentence_spans(sentence))
      out += span.code ? "[" + span.text + "]" : span.text;
    return out;
  };
  CHECK(code("the run `w0` of `02_workers` is <not> *there*") ==
        "the run [w0] of [02_workers] is <not> *there*");
  CHECK(code("`w0`") == "[w0]");
  CHECK(code("one ` alone") == "one ` alone");
  CHECK(code("").empty());
}
