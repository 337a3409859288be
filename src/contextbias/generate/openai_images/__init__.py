"""The generator `openai_images`: OpenAI's images API, and servers that speak like it.

::

    [[generators]]
    name = "gpt-image"
    backend = "openai_images"
    options = { model = "gpt-image-2.6-sunburst", quality = "medium", budget = 20.0 }

One request a picture. A refusal is a row with the service's words, and so is a failure.
"""

from contextbias.generate.openai_images.generator import OpenAIImages
from contextbias.generate.openai_images.options import OpenAIImagesOptions

__all__ = ["OpenAIImages", "OpenAIImagesOptions"]
