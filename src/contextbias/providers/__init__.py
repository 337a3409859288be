"""Talking to services: OpenAI's, and servers that speak like it.

A reader or a generator brings its requests and what an answer means; here are the connection,
pacing, retries, budgets, prices, what each model allows, and batches::

    connection = Connection.of(options)
    budget = Budget(options.budget, price.cost, spent=price.of(session.usage))

    async def call(line, picture):
        body = await line.thread(encode_picture, picture)
        return await chat.send(line, body)

    for picture, reply in exchange(pictures, call, connection=connection, pacing=pacing,
                                   budget=budget):
        ...
"""

from __future__ import annotations

from contextbias.providers.batch import BatchOptions, batches, refuse_twice
from contextbias.providers.batch_records import outstanding
from contextbias.providers.budget import Budget, BudgetOptions, budgeted, require_price
from contextbias.providers.chat import Params, complete, send
from contextbias.providers.connection import Connection, ConnectionOptions
from contextbias.providers.exchange import State, exchange
from contextbias.providers.line import Line
from contextbias.providers.lint import lint_schema
from contextbias.providers.outcomes import Failure, Reply, Usage
from contextbias.providers.pacing import Pacing, PacingOptions
from contextbias.providers.prices import Price, price
from contextbias.providers.profiles import ImageTokens, ModelProfile, profile
from contextbias.providers.session import USAGE, Session, sum_usage

__all__ = [
    "USAGE",
    "BatchOptions",
    "Budget",
    "BudgetOptions",
    "Connection",
    "ConnectionOptions",
    "Failure",
    "ImageTokens",
    "Line",
    "ModelProfile",
    "Pacing",
    "PacingOptions",
    "Params",
    "Price",
    "Reply",
    "Session",
    "State",
    "Usage",
    "batches",
    "budgeted",
    "complete",
    "exchange",
    "lint_schema",
    "outstanding",
    "price",
    "profile",
    "refuse_twice",
    "require_price",
    "send",
    "sum_usage",
]
