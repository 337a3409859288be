"""Serve the fake provider from a process of its own; prints its base address."""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading

from tests.provider.answers import instance_of_schema
from tests.provider.server import FakeProvider


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--no-log", action="store_true")
    parser.add_argument("--answer", help="text of every answer")
    args = parser.parse_args()
    answer = instance_of_schema if args.answer is None else lambda _: str(args.answer)
    provider = FakeProvider(answer=answer, latency=args.latency, keep_log=not args.no_log)
    ready = threading.Event()

    async def serve() -> None:
        task = asyncio.create_task(provider.serve(ready, args.port))
        while not ready.is_set():
            await asyncio.sleep(0.01)
        print(provider.base_url, flush=True)
        # Whoever started it closes its input, or dies.
        await asyncio.to_thread(sys.stdin.read)
        task.cancel()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
