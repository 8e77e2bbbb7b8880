"""Writes schedules.csv: tables of torch.distributed.pipelining 2.11, in the text that its _dump_csv writes, one behind the other.

A line `# FORM RANKS STAGES_A_RANK MICRO_BATCHES` stands before each. No process group is needed: the classes are asked for their order.
"""
import csv
import io
from pathlib import Path

from torch.distributed.pipelining import schedules as peer

CASES = [("gpipe", 2, 1, 3), ("gpipe", 4, 1, 8), ("1f1b", 4, 1, 8), ("1f1b", 3, 1, 5), ("interleaved", 2, 2, 4), ("interleaved", 4, 2, 8),
         ("interleaved", 3, 3, 6), ("zb_h1", 4, 1, 8), ("zb_h1", 3, 1, 3), ("zb_v", 4, 2, 8), ("zb_v", 3, 2, 4), ("zb_v", 2, 2, 7)]
CLASSES = {"gpipe": peer.ScheduleGPipe, "1f1b": peer.Schedule1F1B, "interleaved": peer.ScheduleInterleaved1F1B,
           "zb_h1": peer.ScheduleInterleavedZeroBubble, "zb_v": peer.ScheduleZBVZeroBubble}


def rows_of(form, ranks, chunks, parts):
    schedule = object.__new__(CLASSES[form])
    schedule.pp_group_size, schedule.n_local_stages, schedule._n_microbatches = ranks, chunks, parts
    schedule._num_stages = schedule.num_stages = ranks * chunks
    schedule.microbatches_per_round = ranks
    if form in ("gpipe", "1f1b"):
        rows = schedule._get_pipeline_order()
    else:
        rows = {rank: schedule._calculate_single_rank_operations(rank) for rank in range(ranks)}
    wanted = (peer.FORWARD, peer.FULL_BACKWARD, peer.BACKWARD_INPUT, peer.BACKWARD_WEIGHT)
    return [[cell for cell in rows[rank] if cell is None or cell.computation_type in wanted] for rank in range(ranks)]


def main():
    out = io.StringIO()
    for case in CASES:
        out.write("# " + " ".join(map(str, case)) + "\n")
        csv.writer(out).writerows(rows_of(*case))
    (Path(__file__).resolve().parent / "schedules.csv").write_text(out.getvalue(), newline="")


if __name__ == "__main__":
    main()
