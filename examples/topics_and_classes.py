"""
Which topics make up which classes?
===================================

A topic may belong to one class, or be shared by several. The plots show the mean prediction
for the texts of a topic: a row with one dark cell belongs to one class, a row of pale cells is
shared.
"""

# %%
# Docstrings of scikit-learn; the class is the subpackage. The first model finds its topics
# without the labels (``supervision=0``) and only then relates them to the classes.

from cofactor import TopicModel
from cofactor.datasets import docstring_corpus

corpus = docstring_corpus()
chosen = [i for i, label in enumerate(corpus.labels) if label.startswith("sklearn.")]
texts = [corpus.texts[i] for i in chosen]
labels = [corpus.labels[i].removeprefix("sklearn.") for i in chosen]

settings = {"head": "refit", "init": "random", "max_iter": 60, "tol": 1e-3, "random_state": 0}
without = TopicModel(10, supervision=0, **settings).fit(texts, labels)
title = without.plot_classes().set_title("Topics found without labels", loc="left")

# %%
# The second model has the same start, but uses the labels in the fit, so the topics align with
# the classes. ``head="refit"`` predicts from the topics alone, as in the paper, so the plots show
# everything that the prediction uses.

model = TopicModel(10, supervision="auto", **settings).fit(texts, labels)
title = model.plot_classes().set_title("Topics found with labels", loc="left")
print(
    f"accuracy on these texts: {without.score(texts, labels):.0%} without, "
    f"{model.score(texts, labels):.0%} with labels in the fit"
)
