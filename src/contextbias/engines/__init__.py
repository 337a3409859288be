"""Where a worklist runs: this process, threads, or processes of one machine."""

from contextbias.engines.local import Task, run_batches

__all__ = ["Task", "run_batches"]
