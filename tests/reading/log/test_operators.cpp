// What readers make of a watched step: totals, the attention that ran, types by module, and streams that lie.

#include "cli/run_lines.h"
#include "core/json.h"
#include "core/text.h"
#include "log/operators.h"
#include "log/stream_folder.h"
#include "record/json_line.h"
#include "support/catch.h"
#include "support/says.h"

namespace isobar::test_operators {

namespace {

JsonLine note(const std::string& module, const std::string& name, const std::string& kind,
              const std::string& inputs = "f32, f32", const std::string& output = "f32") {
  JsonLine line("note");
  line.add("text", "operator").add("module", module).add("operator", name).add("class", kind);
  line.add("input_types", inputs).add("output_type", output);
  line.add("calls", 1).add("moved_bytes", 100).add("op_us", 5.0);
  return line;
}

JsonLine watched_step() {
  JsonLine line("step");
  line.add("step", 2).add("t_us", 10).add("samples", 4).add("step_us", 10);
  line.add("launches", 7).add("moved_bytes", 700'000);
  line.add("gemm_op_us", 60).add("attention_op_us", 30).add("copy_op_us", 10);
  return line;
}

std::string whole() {
  std::string out = JsonLine("run").add("schema", 1).add("lesson", "04_amp").add("device", "cpu").text();
  out += note("", "", "").text();  // comes before the run's step, as all of them do
  for (const char* const block : {"0", "1", "2", "4"}) {
    out += note(std::string("blocks.") + block + ".attn.q", "addmm", "gemm", "bf16, bf16", "bf16").text();
    out += note(std::string("blocks.") + block + ".attn", "_flash_attention", "attention").text();
  }
  out += note("blocks.1.attn.q", "copy_", "copy", "f32", "bf16").text();
  out += note("backward", "_flash_attention_backward", "attention").text();
  return out + watched_step().text();
}

/// What `show` prints of the run.
std::string said_of(const std::filesystem::path& run) {
  RunReader reader(run);
  while (reader.update()) {
  }
  return joined(summary_lines(reader.view().summary), "\n") + "\n";
}

}  // namespace

TEST_CASE("the watched step is read with its totals and rows") {
  const StreamFolder folder(whole());
  const OperatorTable table = read_operators(folder.path());
  CHECK(table.step == 2);
  CHECK(table.launches == 7);
  CHECK(table.moved_bytes == 700'000);
  CHECK(table.time_us("gemm") == 60);
  CHECK(table.all_us() == 100);
  CHECK(table.rows.size() == 11);
  CHECK(attention_text(table.attention) == "_flash_attention");  // what backward calls follows from it
  const std::string said = said_of(folder.path());
  CHECK_THAT(said, says("7 calls a step, 700 kB moved (counted in step 3)"));
  CHECK_THAT(said, says("GEMM 60 %, attention 30 %, copy 10 %") && says("attention    _flash_attention\n"));
}

TEST_CASE("identical modules of blocks are one row, and a row that one block alone has is not") {
  const StreamFolder folder(whole());
  const std::vector<OperatorRow> rows = folded(read_operators(folder.path()).rows);
  REQUIRE(rows.size() == 5);
  CHECK(rows[1].module == "blocks.0..2,4.attn.q");
  CHECK(rows[1].calls == 4);
  CHECK(rows[1].moved_bytes == 400);
  CHECK(rows[1].op_us == 20);
  CHECK(rows[3].module == "blocks.1.attn.q");
  CHECK(rows[3].name == "copy_");
  CHECK(rows[4].module == "backward");
  const std::string text = joined(type_lines(read_operators(folder.path())));
  CHECK_THAT(text, says("blocks.0..2,4.attn.q") && says("bf16, bf16") && says("module"));
}

TEST_CASE("attention of plain operators is named by what it is made of") {
  const StreamFolder folder(JsonLine("run").add("schema", 1).text() +
                            note("blocks.0.attn", "bmm", "attention").text() +
                            note("blocks.0.attn", "_softmax", "attention").text() + watched_step().text());
  CHECK(attention_text(read_operators(folder.path()).attention) == "plain operators (bmm, _softmax)");
}

TEST_CASE("a run without a watched step has no line, and says so where the types are asked for") {
  const StreamFolder folder(JsonLine("run").add("schema", 1).text() +
                            JsonLine("step").add("step", 0).add("step_us", 10).text());
  const OperatorTable table = read_operators(folder.path());
  CHECK(table.step == -1);
  CHECK_THAT(said_of(folder.path()), !says("operators"));
  CHECK_THAT(joined(type_lines(table)), says("no table of types"));
  RunReader reader(folder.path());
  while (reader.update()) {
  }
  CHECK_FALSE(Json::parse(run_report(reader).json.text()).contains("operators"));
}

TEST_CASE("a resumed run's table is that of its newest attempt") {
  const StreamFolder folder(whole() + JsonLine("run").add("schema", 1).add("attempt", 1).text() +
                            note("norm", "native_layer_norm", "norm").text() + watched_step().text());
  const OperatorTable table = read_operators(folder.path());
  REQUIRE(table.rows.size() == 1);
  CHECK(table.rows[0].name == "native_layer_norm");
}

TEST_CASE("JSON holds totals beside the run, and rows where they are asked for") {
  const StreamFolder folder(whole());
  RunReader reader(folder.path());
  while (reader.update()) {
  }
  const auto run = Json::parse(run_report(reader).json.text());
  CHECK(run["operators"]["launches"] == 7);
  CHECK(run["operators"]["attention"] == "_flash_attention");
  CHECK_FALSE(run["operators"].contains("rows"));
  const auto types = Json::parse(operators_json(read_operators(folder.path())).text());
  REQUIRE(types["rows"].values().size() == 11);
  CHECK(types["rows"][1]["input_types"] == "bf16, bf16");
  CHECK(types["class_us"]["gemm"] == 60);
}

TEST_CASE("streams that lie are read without harm") {
  std::string text = JsonLine("run").add("schema", 1).text();
  text += R"({"kind":"note","operator":7,"module":[1,2],"calls":-5,"moved_bytes":1e300,"op_us":"nan"})"
          "\n";
  text += R"({"kind":"note","operator":"\u001b[2J","module":"blocks.99999999999999999999.x","calls":"many"})"
          "\n";
  text += R"({"kind":"note","operator":"a","module":"..0..","class":"none such"})"
          "\n";
  text += R"({"kind":"note","operator":"a","module":"","class":"gemm","calls":8e15,"moved_bytes":8e15})"
          "\n";
  text += R"({"kind":"note","operator":"a","module":"","class":"gemm","calls":8e15,"moved_bytes":8e15})"
          "\n";
  text += R"({"kind":"step","step":-3,"launches":"inf","moved_bytes":-1,"gemm_op_us":"nan","copy_op_us":-7})"
          "\n";
  const StreamFolder folder(text);
  const OperatorTable table = read_operators(folder.path());
  CHECK(table.step == -1);  // figures that cannot be are no figures
  CHECK(table.moved_bytes == 0);
  CHECK(table.all_us() == 0);
  REQUIRE(table.rows.size() == 5);
  CHECK(table.rows[0].calls == 0);
  CHECK(table.rows[1].name.find('\033') == std::string::npos);
  const std::vector<OperatorRow> rows = folded(table.rows);
  CHECK(rows.back().moved_bytes == 16'000'000'000'000'000);
  CHECK_FALSE(type_lines(table).empty());
  CHECK_THAT(said_of(folder.path()), !says("operators"));
}

TEST_CASE("no more rows are kept than anybody reads") {
  std::string text = JsonLine("run").add("schema", 1).text();
  for (int i = 0; i < 20'010; ++i) text += note("m", "op" + std::to_string(i), "copy").text();
  const StreamFolder folder(text + watched_step().text());
  CHECK(read_operators(folder.path()).rows.size() == 20'000);
}

}  // namespace isobar::test_operators
