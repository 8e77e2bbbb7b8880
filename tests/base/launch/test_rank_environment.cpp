#include <map>

#include "launch/rank_environment.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

using Variables = std::map<std::string, std::string>;

RankEnvironment read(const Variables& variables) {
  const auto get = [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  return read_rank_environment(get, [] { return std::string("4711"); });
}

const Variables kTorchrun = {{"RANK", "3"},           {"LOCAL_RANK", "1"},      {"WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "n001"}, {"MASTER_PORT", "29500"}, {"LOCAL_WORLD_SIZE", "2"}};
const Variables kSlurm = {{"SLURM_STEP_ID", "2"},
                          {"SLURM_JOB_ID", "1234"},
                          {"SLURM_PROCID", "5"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_NTASKS", "8"},
                          {"SLURM_NODEID", "1"},
                          {"SLURM_STEP_NODELIST", "n[007-008]"},
                          {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}};

const Variables kOpenMpi = {{"OMPI_COMM_WORLD_SIZE", "2"},       {"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"PMIX_NAMESPACE", "546045953"},     {"PMIX_RANK", "1"}};
const Variables kHydra = {
    {"PMI_SIZE", "2"}, {"PMI_RANK", "1"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}
Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

}  // namespace

TEST_CASE("nothing set means one process, and so do a batch script and salloc, which say so") {
  CHECK(read({}).launched_by == LaunchedBy::nobody);
  CHECK(read({}).world == 1);
  CHECK(read({{"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}}).note.empty());
  const Variables batch = {{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}};
  CHECK(read(batch).world == 1);
  CHECK(read(batch).note ==
        "Slurm allocated 8 tasks, and this is not one of them: start with srun, or this runs alone");
  CHECK(read(with(batch, "SLURM_STEP_ID", "4294967290")).world == 1);  // the shell of salloc
  CHECK_FALSE(read(with(batch, "SLURM_STEP_ID", "4294967290")).note.empty());
  CHECK(read(with(batch, "SLURM_NTASKS", "1")).note.empty());
}

TEST_CASE("the variables of torchrun") {
  const RankEnvironment ranks = read(kTorchrun);
  CHECK(ranks.launched_by == LaunchedBy::torchrun);
  CHECK(ranks.rank == 3);
  CHECK(ranks.local_rank == 1);
  CHECK(ranks.world == 4);
  CHECK(ranks.local_world == 2);
  CHECK(ranks.address == "n001");
  CHECK(ranks.port == 29500);
  CHECK(read(without(with(kTorchrun, "MASTER_ADDR", "127.0.0.1"), "LOCAL_WORLD_SIZE")).local_world == 4);
  CHECK(read(with(kTorchrun, "MASTER_ADDR", "fe80::1%eth0")).address == "fe80::1%eth0");
  Variables both = kSlurm;
  both.insert(kTorchrun.begin(), kTorchrun.end());
  CHECK(read(both).launched_by == LaunchedBy::torchrun);  // they win
}

TEST_CASE("a task of a step of Slurm") {
  const RankEnvironment ranks = read(kSlurm);
  CHECK(ranks.launched_by == LaunchedBy::slurm);
  CHECK(ranks.rank == 5);
  CHECK(ranks.local_rank == 1);
  CHECK(ranks.world == 8);
  CHECK(ranks.local_world == 4);
  CHECK(ranks.address == "n007");
  CHECK(ranks.port == port_of_step(1234, 2));
  CHECK(ranks.port >= 15'000);
  CHECK(ranks.port < 32'000);
  CHECK(port_of_step(1234, 2) != port_of_step(1234, 3));
  CHECK(port_of_step(1234, 2) != port_of_step(1235, 2));
  const RankEnvironment given = read(with(with(kSlurm, "MASTER_PORT", "4000"), "MASTER_ADDR", "head"));
  CHECK(given.port == 4000);
  CHECK(given.address == "head");
  CHECK(read(with(kSlurm, "SLURM_STEP_TASKS_PER_NODE", "5,3")).local_world == 3);
  CHECK(read(with(kSlurm, "SLURM_STEP_NUM_TASKS", "6")).world == 6);
  CHECK(read(with(without(kSlurm, "SLURM_STEP_NODELIST"), "SLURM_JOB_NODELIST", "m[1-2]")).address == "m1");
}

TEST_CASE("a world of one is one process, whatever else is not set") {
  for (const Variables& variables :
       {Variables{{"WORLD_SIZE", "1"}}, Variables{{"WORLD_SIZE", "1"}, {"RANK", "0"}},
        Variables{{"WORLD_SIZE", "1"}, {"RANK", "0"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "23456"}},
        with(with(with(kOpenMpi, "OMPI_COMM_WORLD_SIZE", "1"), "OMPI_COMM_WORLD_RANK", "0"), "PMIX_RANK",
             "0"),
        with(kHydra, "PMI_SIZE", "1")}) {
    const RankEnvironment ranks = read(variables);
    CHECK(ranks.rank == 0);
    CHECK(ranks.local_rank == 0);
    CHECK(ranks.world == 1);
    CHECK(ranks.note.empty());
  }
  // The ranks of ./isobar run --ranks 1 meet, too.
  CHECK(
      read({{"WORLD_SIZE", "1"}, {"RANK", "0"}, {"LOCAL_RANK", "0"}, {"ISOBAR_MEETING", "/m"}}).launched_by ==
      LaunchedBy::isobar);
}

TEST_CASE("processes of an mpirun are ranks, on one machine at a port of their own") {
  for (const Variables& variables : {kOpenMpi, kHydra}) {
    const RankEnvironment ranks = read(variables);
    CHECK(ranks.launched_by == LaunchedBy::mpi);
    CHECK(ranks.rank == 1);
    CHECK(ranks.local_rank == 1);
    CHECK(ranks.world == 2);
    CHECK(ranks.local_world == 2);
    CHECK(ranks.address == "127.0.0.1");
  }
  CHECK(read(kOpenMpi).port == port_of_launcher("546045953"));
  CHECK(read(kHydra).port == port_of_launcher("4711"));
  CHECK(port_of_launcher("4711") != port_of_launcher("4712"));
  CHECK(port_of_launcher("") >= 15'000);
  CHECK(port_of_launcher("4711") < 32'000);
  const RankEnvironment given = read(with(with(kHydra, "MASTER_PORT", "4000"), "MASTER_ADDR", "head"));
  CHECK(given.port == 4000);
  CHECK(given.address == "head");
}

TEST_CASE("several processes of a lesson without ranks are refused, by the name of who started them") {
  const RankEnvironment two = read(kHydra);
  CHECK_THAT(error_of([&] { check_takes_ranks(two, "01_baseline", false); }), says("mpirun started 2"));
  CHECK_NOTHROW(check_takes_ranks(two, "06_ddp", true));
  CHECK_NOTHROW(check_takes_ranks(read({}), "01_baseline", false));
}

TEST_CASE("processes of an mpirun over several machines take the address of rank 0") {
  const Variables wide = with(kOpenMpi, "OMPI_COMM_WORLD_SIZE", "4");
  CHECK_THAT(error_of([&] { read(wide); }), says("MASTER_ADDR"));
  CHECK(read(with(wide, "MASTER_ADDR", "n1")).address == "n1");
  CHECK(read(with(wide, "MASTER_ADDR", "n1")).port == port_of_launcher("546045953"));  // the same on all
  const Variables hydra = with(kHydra, "PMI_SIZE", "4");
  CHECK_THAT(error_of([&] { read(with(hydra, "MASTER_ADDR", "n1")); }), says("MASTER_PORT"));
  CHECK(read(with(with(hydra, "MASTER_ADDR", "n1"), "MASTER_PORT", "4000")).world == 4);
}

TEST_CASE("of an mpirun within Slurm, and an srun that speaks PMI, the inner one counts") {
  Variables helper = {{"SLURM_STEP_ID", "0"},        {"SLURM_JOB_ID", "7"},
                      {"SLURM_PROCID", "1"},         {"SLURM_LOCALID", "0"},
                      {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_NODELIST", "n[1-2]"}};
  Variables inner = helper;
  inner.merge(Variables(kOpenMpi));
  CHECK(read(inner).launched_by == LaunchedBy::mpi);
  Variables hydra =
      with(with(with(helper, "SLURM_STEP_NUM_TASKS", "1"), "SLURM_PROCID", "0"), "PMI_SIZE", "2");
  hydra.merge(Variables(kHydra));
  CHECK(read(hydra).launched_by == LaunchedBy::mpi);
  Variables srun = with(with(helper, "PMI_SIZE", "2"), "PMI_RANK", "1");
  CHECK(read(srun).launched_by == LaunchedBy::slurm);
  Variables own = kOpenMpi;  // ./isobar run --ranks below mpirun -n 1, and torchrun
  own.insert(kTorchrun.begin(), kTorchrun.end());
  CHECK(read(own).launched_by == LaunchedBy::torchrun);
  CHECK(read(with(own, "ISOBAR_MEETING", "/m")).launched_by == LaunchedBy::isobar);
  CHECK_THAT(read({{"PMIX_RANK", "1"}}).note, says("this runs alone"));
}

TEST_CASE("what lies or is half set is refused with the name of the variable") {
  struct Case {
    Variables variables;
    std::string name;
  };
  std::vector<Case> cases;
  for (const std::string name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    cases.push_back({without(kTorchrun, name), name});
  for (const std::string value : {"abc", "", "-1", "4", "1x", " 1", "99999999999999999999"})
    cases.push_back({with(kTorchrun, "RANK", value), "RANK"});
  for (const std::string value : {"0", "-4", "four", "", "65537"})
    cases.push_back({with(kTorchrun, "WORLD_SIZE", value), "WORLD_SIZE"});
  for (const std::string value : {"4", "-1", "x"})
    cases.push_back({with(kTorchrun, "LOCAL_RANK", value), "LOCAL_RANK"});
  for (const std::string value : {"99999", "0", "-1", "http", ""})
    cases.push_back({with(kTorchrun, "MASTER_PORT", value), "MASTER_PORT"});
  for (const std::string value : {"", "a b", "$(id)", "-x", "n;1", "n\n1"})
    cases.push_back({with(kTorchrun, "MASTER_ADDR", value), "MASTER_ADDR"});
  for (const std::string value : {"1", "5", "x"})  // LOCAL_RANK is 1
    cases.push_back({with(kTorchrun, "LOCAL_WORLD_SIZE", value), "LOCAL_WORLD_SIZE"});
  for (const std::string name : {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_JOB_ID"}) {
    cases.push_back({without(kSlurm, name), name});
    cases.push_back({with(kSlurm, name, "-1"), name});
    cases.push_back({with(kSlurm, name, "x"), name});
  }
  cases.push_back({without(kSlurm, "SLURM_STEP_NODELIST"), "SLURM_JOB_NODELIST"});
  cases.push_back({with(kSlurm, "SLURM_PROCID", "8"), "SLURM_PROCID"});
  cases.push_back({with(kSlurm, "SLURM_STEP_ID", "x"), "SLURM_STEP_ID"});
  cases.push_back({with(kSlurm, "SLURM_STEP_NODELIST", "n[1-"), "SLURM_STEP_NODELIST"});
  for (const std::string value : {"4(x", "0", "9", "4(x0)", ",", "4;id", "4(x2"})
    cases.push_back({with(kSlurm, "SLURM_STEP_TASKS_PER_NODE", value), "SLURM_STEP_TASKS_PER_NODE"});
  cases.push_back({with(kSlurm, "MASTER_PORT", "99999"), "MASTER_PORT"});
  cases.push_back({with(kSlurm, "MASTER_ADDR", "`id`"), "MASTER_ADDR"});
  for (const std::string name :
       {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MASTER_PORT"})
    cases.push_back({with(kOpenMpi, name, "x"), name});
  cases.push_back({without(kOpenMpi, "OMPI_COMM_WORLD_LOCAL_RANK"), "OMPI_COMM_WORLD_LOCAL_RANK"});
  cases.push_back({with(kOpenMpi, "OMPI_COMM_WORLD_RANK", "2"), "OMPI_COMM_WORLD_RANK"});
  cases.push_back({with(kOpenMpi, "OMPI_COMM_WORLD_LOCAL_SIZE", "1"), "OMPI_COMM_WORLD_LOCAL_SIZE"});
  for (const std::string name : {"PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"})
    cases.push_back({with(kHydra, name, "-1"), name});
  cases.push_back({without(kHydra, "PMI_RANK"), "PMI_RANK"});
  cases.push_back({without(kHydra, "MPI_LOCALRANKID"), "MPI_LOCALRANKID"});
  cases.push_back({{{"WORLD_SIZE", "1"}, {"RANK", "1"}}, "RANK"});
  cases.push_back({{{"WORLD_SIZE", "1"}, {"LOCAL_RANK", "x"}}, "LOCAL_RANK"});
  cases.push_back({{{"RANK", "0"}}, "WORLD_SIZE"});
  for (const auto& [variables, name] : cases) {
    INFO(name << " = " << (variables.count(name) == 0 ? "(not set)" : variables.at(name)));
    CHECK_THAT(error_of([&] { read(variables); }), says(name));
  }
}
