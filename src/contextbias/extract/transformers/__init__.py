"""The reader `transformers`: a vision-language model of one's own, held to the schema."""

from contextbias.extract.transformers.reader import TransformersReader

__all__ = ["TransformersReader"]
