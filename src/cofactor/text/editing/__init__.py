"""Topics that users keep and change.

settled.py   what a user decided about each topic: name, frozen or not, pinned and banned words
edits.py     rename, merge, drop, split, freeze, thaw, pin, ban: each returns a new model
changes.py   several edits made together, by the topic numbers of the original model
refits.py    a fit that continues from edited topics and respects the edits
updates.py   a model that learns from new documents without the old ones, and finds new topics
"""

from cofactor.text.editing.settled import Settled

__all__ = ["Settled"]
