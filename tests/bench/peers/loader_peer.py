"""PyTorch's DataLoader over h5py for `bench loader`. Usage: loader_peer.py FOLDER (sheet.json and the data set)."""
import json
import os
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from wire import serve

PIECE = 1 << 20  # words of a checksum at once


class Fields(Dataset):
    """Pairs of records, normalised, as the tutorial's loader makes them: read, subtract in place, divide in place."""

    def __init__(self, root):
        self.path = root / "train" / "2000.h5"
        self.means, self.stds = (np.load(root / "stats" / f"global_{which}.npy")[0] for which in ("means", "stds"))
        self.fields = None

    def field(self, record):
        values = self.fields[record]
        values -= self.means
        values /= self.stds
        return torch.from_numpy(values)

    def __getitem__(self, places):
        if self.fields is None:  # in the worker that reads: a file of HDF5 does not live through a fork
            self.fields = h5py.File(self.path, "r")["fields"]
        return self.field(places[0]), self.field(places[1])


def places_of(sample, records, dt):
    """The index rule of the tutorial: records of input and target."""
    record = sample % records % (records - dt)
    record += dt if record < dt else 0
    return record, record + dt


def checksum(tensor):
    """Sum of the 32-bit words, each times its odd position, modulo 2^64."""
    words = tensor.contiguous().numpy().view(np.uint32).ravel()
    total = 0
    for begin in range(0, words.size, PIECE):
        piece = words[begin : begin + PIECE].astype(np.uint64)
        odd = np.arange(begin, begin + piece.size, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        total += int((piece * odd).sum(dtype=np.uint64))
    return str(total % 2**64)


def processor_ns(pid):
    """Processor time of a process, all its threads (the clock that clock_getcpuclockid names)."""
    return time.clock_gettime_ns((~pid << 3) | 2)


class Loader:
    def __init__(self, folder):
        self.sheet = json.loads((Path(folder) / "sheet.json").read_text())
        self.fields = Fields(Path(folder))
        self.device = torch.device(self.sheet["device"])
        self.batches = []  # what the loader is to give, replaced before each epoch
        self.loader = None

    def set(self, workers, prefetch):
        """A new loader; milliseconds until its first batch is there, its processes' start included."""
        workers = int(workers)
        self.loader = None  # ends the processes of the last one
        more = {"prefetch_factor": int(prefetch), "persistent_workers": True, "multiprocessing_context": "fork"} if workers else {}
        self.batches = self.epoch("again", 0)[:1]
        begin = time.perf_counter_ns()
        self.loader = DataLoader(self.fields, batch_sampler=self, num_workers=workers, pin_memory=self.device.type == "cuda", **more)
        for _ in self.loader:
            first = time.perf_counter_ns()
        return {"ms": (first - begin) / 1e6}

    def __iter__(self):
        return iter(self.batches)

    def epoch(self, name, number):
        """Batches of epoch `number` of a list, each the places of its samples."""
        one = self.sheet["lists"][name]
        order = one["epochs"][int(number) % len(one["epochs"])]
        size = self.sheet["batch"]
        places = [places_of(sample, self.sheet["records"], one["dt"]) for sample in order]
        return [places[begin : begin + size] for begin in range(0, len(places) - size + 1, size)]

    def check(self, name, number):
        """The checksum of every batch."""
        self.batches = self.epoch(name, number)
        return {"sums": [[checksum(x), checksum(y)] for x, y in self.loader]}

    def processor_s(self):
        workers = [worker.pid for worker in getattr(self.loader._iterator, "_workers", None) or []]
        return sum(processor_ns(pid) for pid in [os.getpid(), *workers]) / 1e9

    def run(self, name, number, step_ms):
        """One epoch for a consumer that sleeps `step_ms` after each batch."""
        self.batches = self.epoch(name, number)
        step_s, stalls, count = float(step_ms) / 1e3, [], 0
        processor, begin = self.processor_s(), time.perf_counter()
        given = iter(self.loader)
        while True:
            asked = time.perf_counter()
            pair = next(given, None)
            if pair is None:
                break
            x, y = (tensor.to(self.device, non_blocking=True) for tensor in pair)
            stalls.append((time.perf_counter() - asked) * 1e3)
            count += x.nbytes + y.nbytes
            if step_s > 0:
                time.sleep(step_s)
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
        return {"seconds": seconds, "bytes": count, "processor_s": self.processor_s() - processor, "stalls_ms": stalls}


loader = Loader(sys.argv[1])
serve({"set": loader.set, "check": loader.check, "run": loader.run})
