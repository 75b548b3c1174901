"""Topics that users keep and change.

settled.py     what a user settled of each topic: name, frozen or not, pinned and banned words
shown.py       words and names of topics as the user settled them
edits.py       rename, merge, drop, split, freeze, thaw, pin, ban: a new model, without data
changes.py     several edits that are made together, by the numbers of the model before
refits.py      a fit that goes on from edited topics with everything settled in force
updates.py     a model that learns from new documents without the old ones
new_topics.py  topics in new documents: old ones stay, new ones explain what is left
drift.py       what moved between two models: words, documents, predictions
"""

from cofactor.text.describe.compare import TopicDrift
from cofactor.text.editing.settled import Settled

__all__ = ["Settled", "TopicDrift"]
