"""The embedded reader for real images: offline, on the CPU, without a key.

It reads colours, depth of field and framing from pixels, and the apparent presentation of frontal
faces from small networks and probes. What it cannot see is ``unknown``.
"""

from contextbias.extract.local.reader import READABLE, RULES, LocalReader, LocalReaderOptions

__all__ = ["READABLE", "RULES", "LocalReader", "LocalReaderOptions"]
