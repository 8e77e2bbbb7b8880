// Tables of measured numbers beside a lesson.
#include "core/files.h"
#include "log/number_table.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/says.h"
#include "support/temp_folder.h"

namespace isobar::test_number_table {

namespace {

NumberTable read(const std::string& text) {
  const TempFolder folder;
  write_file_whole(folder / "t.csv", std::string_view(text));
  return read_number_table(folder / "t.csv");
}

}  // namespace

TEST_CASE("a table has a note, columns, and a number for each in every row") {
  const NumberTable table = read("# measured, once\nsize,ms\n0.25,40\n1e1,-3.5\n");
  CHECK(table.note == "measured, once");
  CHECK(table.columns == std::vector<std::string>{"size", "ms"});
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[1] == std::vector<double>{10, -3.5});
  CHECK(table.column("ms") == 1);
  CHECK_THAT(error_of([&] { table.column("us"); }), says("no column us"));
  CHECK(read("# nothing yet\na,b\n").rows.empty());
}

TEST_CASE("a table that is none is refused with file and line") {
  const auto refused = [](const std::string& text) { return error_of([&] { read(text); }); };
  CHECK_THAT(refused(""), says("does not begin with a note"));
  CHECK_THAT(refused("a,b\n1,2\n"), says("does not begin with a note"));
  CHECK_THAT(refused("# note\n"), says("has no columns"));
  CHECK_THAT(refused("# note\n\n1\n"), says("has no columns"));
  CHECK_THAT(refused("# note\na,b\n1,2\n1\n"), says("1 number for 2 columns"));
  CHECK_THAT(refused("# note\na\n1,2\n"), says("2 numbers for 1 column"));
  CHECK_THAT(refused("# note\na\nx\n"), says("\"x\" is not a number"));
  CHECK_THAT(refused("# note\na\n\n1\n"), says("\"\" is not a number"));
  for (const char* const odd : {"nan", "inf", "1e999", "1 ", "0x10", "1\r"})
    CHECK_THAT(refused(std::string("# note\na\n") + odd + "\n"), says("is not a number"));
  CHECK_THAT(error_of([] { read_number_table("/nowhere/t.csv"); }), says("/nowhere/t.csv"));
}

TEST_CASE("the tables of lesson 10 have what its picture draws") {
  const std::filesystem::path recorded = project_home() / "lessons/10_buckets/recorded";
  const NumberTable sizes = read_number_table(recorded / "bucket_sizes.csv");
  for (const char* name : {"gbit_per_s", "latency_us", "bucket_mib", "median_ms", "least_ms", "most_ms"})
    CHECK_NOTHROW(sizes.column(name));
  for (const std::vector<double>& row : sizes.rows) {
    CHECK(row[sizes.column("least_ms")] <= row[sizes.column("median_ms")]);
    CHECK(row[sizes.column("median_ms")] <= row[sizes.column("most_ms")]);
  }
  const NumberTable losses = read_number_table(recorded / "buffer_losses.csv");
  for (const char* name : {"step", "kept", "sent"}) CHECK_NOTHROW(losses.column(name));
  CHECK(sizes.rows.size() > 9);
  CHECK(losses.rows.size() > 9);
}

}  // namespace isobar::test_number_table
