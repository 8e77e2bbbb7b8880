// Pages of lessons: what each beat shows, words of the glossary, where links lead.
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

TEST_CASE("Each beat has its sections; what is folded and what is of none is read") {
  const LessonPage page = read_lesson_page(
      "# 02 Title\n\n## Claim\n\nc\n\n## Predict\n\np\n\n## Run\n\nr\n\n## What to look at\n\nw\n\n"
      "## Break\n\nb\n\n<details><summary>Settings</summary>\n\ns\n\n</details>\n\nend\n",
      GlossaryWords({}));
  const auto words = [&](Beat beat) {
    std::string out;
    for (const MarkdownBlock& block : page.of(beat)) out += words_of(block.spans) + "|";
    return out;
  };
  CHECK(words(Beat::read) == "02 Title|Claim|c|Settings|s||end|");
  CHECK(words(Beat::predict) == "Predict|p|");
  CHECK(words(Beat::run) == "Run|r|What to look at|w|");
  CHECK(words(Beat::breaking) == "Break|b|");
  CHECK(words(Beat::reveal).empty());
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
