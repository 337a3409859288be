"""The reader `openai`: a vision-language model behind OpenAI's API, or a server that speaks it."""

from contextbias.extract.openai.reader import OpenAIReader

__all__ = ["OpenAIReader"]
