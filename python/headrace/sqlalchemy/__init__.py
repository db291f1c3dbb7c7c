"""SQLAlchemy's dialects, which SQLAlchemy finds by their entry points: ``postgresql+headrace``.

Nothing of headrace imports this package; it needs SQLAlchemy 2.0.44 or newer, 2.1 included.
"""
