"""What people answered about a study's images: the rows, and whose answers count."""

from contextbias.people.annotations import Annotations
from contextbias.people.quality import AnnotatorQuality, Rules, excluded, qualities

__all__ = ["Annotations", "AnnotatorQuality", "Rules", "excluded", "qualities"]
