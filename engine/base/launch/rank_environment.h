#pragma once
// Which of how many processes this one is, from the environment that a launcher left: `./isobar run --ranks`,
// torchrun, srun, or an mpirun. Torch-free.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace isobar {

enum class LaunchedBy {
  nobody,    ///< one process that trains alone
  isobar,    ///< ./isobar run LESSON --ranks N: all ranks are on this machine and meet through a file
  torchrun,  ///< RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, set by any launcher
  slurm,     ///< a task of a job step: SLURM_PROCID, SLURM_LOCALID, SLURM_NTASKS
  mpi        ///< a process of mpirun: OMPI_COMM_WORLD_* of Open MPI; PMI_RANK, PMI_SIZE of MPICH, Intel MPI
};

/// The launcher's command: "srun".
std::string_view name_of(LaunchedBy launcher);

struct RankEnvironment {
  LaunchedBy launched_by = LaunchedBy::nobody;
  int rank = 0;
  int local_rank = 0;
  int world = 1;
  int local_world =
      1;  ///< ranks on this machine; 1 where it is not known and other ranks may be on other machines
  int cores_of_task = 0;     ///< processors that Slurm gave to each task, 0 = not known
  std::string meeting_file;  ///< LaunchedBy::isobar: the file at which ranks meet (ISOBAR_MEETING)
  std::string address;       ///< the other launchers: the host of rank 0
  int port = 0;
  std::string note;  ///< a warning for the user, such as an allocation without srun; "" = none
};

/// The port at which the ranks of a Slurm step meet unless MASTER_PORT is set: equal on all ranks, and
/// different for most other jobs of the node.
int port_of_step(std::int64_t job, std::uint32_t step);

/// Where the ranks of an mpirun meet on one machine: a port from what all of them have in common.
int port_of_launcher(const std::string& common);

/// Reads the environment through `get` (null = not set). RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR,
/// MASTER_PORT win over all others; with none of them this is one process. With WORLD_SIZE = 1 the others
/// need not be there. Slurm's count only within a step (SLURM_STEP_ID): the batch shell and salloc are one
/// process, and `note` reports it. Without MASTER_ADDR the first host of SLURM_STEP_NODELIST or
/// SLURM_JOB_NODELIST, without MASTER_PORT one derived from SLURM_JOB_ID and the step. Those of an mpirun win
/// over a step that has another number of tasks, for mpirun starts its helpers by srun; on one machine its
/// ranks meet on loopback, at a port derived from PMIX_NAMESPACE or from what `launcher` returns, the process
/// that started all of them; on several they take MASTER_ADDR and MASTER_PORT. Error (exit code 2) that names
/// the variable: half a set, no number, a rank that is not below the world size.
RankEnvironment read_rank_environment(
    const std::function<const char*(const char*)>& get,
    const std::function<std::string()>& launcher = [] { return std::string(); });

/// Reads the environment of this process.
RankEnvironment read_rank_environment();

/// Error (exit code 2) where several processes were started for a lesson that has no ranks: each would train
/// all of it.
void check_takes_ranks(const RankEnvironment& ranks, const std::string& lesson, bool takes_ranks);

}  // namespace isobar
