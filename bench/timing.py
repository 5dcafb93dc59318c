# Part of Backfuse, under the Apache License v2.0 with LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The timing protocol of `kernel-run --bench`, for PyTorch programs.

Before each run the L2 cache is flushed by filling a buffer of twice its size;
then a spin kernel holds the stream while the CPU enqueues the whole run, so
that the gaps between launches are not measured; events stand around the run.
A run whose enqueueing outlasted the spin is thrown away and repeated behind a
longer spin.
"""

import dataclasses
import gc
import statistics
import time
from typing import Callable

import torch

WARM_UPS = 3
LEAST_SPIN_CYCLES = 300_000
MOST_SPIN_CYCLES = 400_000_000  # about 0.2 s
CYCLES_PER_SECOND = 2e9         # no GPU of today is faster: the spin lasts longer


class TimingError(Exception):
    pass


@dataclasses.dataclass
class Timing:
    median_us: float
    mean_us: float
    min_us: float
    max_us: float
    runs: int
    discarded: int       # runs whose enqueueing outlasted the spin
    spin_cycles: int
    sm_mhz: float        # SM clock during the spins: cycles over time
    enqueue_us: float    # CPU time to enqueue one run, median


class Stopwatch:
    """Times callables on the current CUDA device and stream."""

    def __init__(self, runs: int):
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        self.runs = runs
        self.flushBytes = 2 * properties.L2_cache_size
        self.flushBuffer = torch.empty(self.flushBytes, dtype=torch.uint8,
                                       device="cuda")

    def protocol(self) -> dict:
        return {"runs": self.runs, "warm_ups": WARM_UPS,
                "flush": "fill", "flush_bytes": self.flushBytes,
                "queued_behind_spin": True, "clock": "cuda events"}

    def oneRun(self, function: Callable, cycles: int):
        """(run in us, SM MHz in the spin, enqueue in us); None if enqueued late."""
        spin, start, end = (torch.cuda.Event(enable_timing=True)
                            for _ in range(3))
        self.flushBuffer.zero_()
        spin.record()
        torch.cuda._sleep(cycles)
        start.record()
        begin = time.perf_counter()
        result = function()
        end.record()
        enqueue = time.perf_counter() - begin
        inTime = not start.query()  # the spin still runs: nothing has started
        torch.cuda.synchronize()
        del result
        if not inTime:
            return None
        spun = spin.elapsed_time(start) * 1e3
        return start.elapsed_time(end) * 1e3, cycles / spun, enqueue * 1e6

    def measure(self, function: Callable) -> Timing:
        for _ in range(WARM_UPS):
            begin = time.perf_counter()
            function()
            enqueue = time.perf_counter() - begin
            torch.cuda.synchronize()
        cycles = min(MOST_SPIN_CYCLES,
                     max(LEAST_SPIN_CYCLES,
                         int(2 * enqueue * CYCLES_PER_SECOND)))
        samples, discarded = [], 0
        collecting = gc.isenabled()
        gc.disable()
        try:
            while len(samples) < self.runs:
                sample = self.oneRun(function, cycles)
                if sample is not None:
                    samples.append(sample)
                    continue
                discarded += 1
                if cycles >= MOST_SPIN_CYCLES:
                    raise TimingError(
                        "the CPU cannot enqueue one run within "
                        f"{MOST_SPIN_CYCLES} cycles: does it synchronise?")
                cycles = min(MOST_SPIN_CYCLES, cycles * 3 // 2)
        finally:
            if collecting:
                gc.enable()
        times = [s[0] for s in samples]
        return Timing(
            median_us=statistics.median(times), mean_us=statistics.fmean(times),
            min_us=min(times), max_us=max(times), runs=len(times),
            discarded=discarded, spin_cycles=cycles,
            sm_mhz=statistics.median(s[1] for s in samples),
            enqueue_us=statistics.median(s[2] for s in samples))
