"""The version of the package, and the only place that states it.

Between releases it is that of the next one, with ``.dev0``.
"""

__version__ = "0.2.0"
