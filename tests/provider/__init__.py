"""A fake provider on loopback: strict, faulty on demand, with a log of its own.

::

    with FakeProvider(plan=always("refuse")).running() as provider:
        ... provider.base_url, provider.log, provider.billed()

``python -m tests.provider --help`` serves from a process of its own.
"""

from tests.provider.answers import Answer, Question, completion, instance_of_schema
from tests.provider.batches import Batches
from tests.provider.faults import Fault, Storm, always, by_key, first
from tests.provider.server import Entry, FakeProvider

__all__ = [
    "Answer",
    "Batches",
    "Entry",
    "FakeProvider",
    "Fault",
    "Question",
    "Storm",
    "always",
    "by_key",
    "completion",
    "first",
    "instance_of_schema",
]
