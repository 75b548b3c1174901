"""
A stream whose subjects change
==============================

Texts arrive week by week and are seen once. ``partial_fit`` learns from each batch; later batches
count more than earlier ones, so the topics follow when people begin to write about something
else.
"""

# %%
# Artificial messages of 30 weeks, 120 per week. Complaints about delivery first mention parcels
# and vans; around week 15 drones take over. One message in ten is labelled.

from copy import deepcopy

import matplotlib.pyplot as plt
import numpy as np

from cofactor import TopicModel
from cofactor.text import WordVectorizer

random = np.random.default_rng(0)
words = {
    "delivery": "parcel van driver late door address courier tracking".split(),
    "payment": "invoice card refund bank charge receipt price currency".split(),
    "account": "password login email profile reset locked username settings".split(),
}
newer = "drone roof landing battery hover rotor garden noise".split()
usual = "please thanks today help order again still customer".split()


def week(number, size=120):
    """Return the messages of a week and their labels."""
    share = 1 / (1 + np.exp(-(number - 15) / 1.5))  # of drones among deliveries
    labels = random.choice(list(words), size)
    texts = []
    for label in labels:
        drones = label == "delivery" and random.random() < share
        own = random.choice(newer if drones else words[label], 5)
        texts.append(" ".join([*own, *random.choice(usual, 4)]))
    return texts, labels


# %%
# The vocabulary is fixed first, because a stream cannot go back for words that it has dropped.
# Every third week is predicted before it is learned, by the stream and by a model that stopped
# learning after six weeks.

vocabulary = sorted({*newer, *usual, *(word for each in words.values() for word in each)})
stream = TopicModel(4, vectorizer=WordVectorizer(vocabulary=vocabulary), random_state=0)
weeks, accuracy = list(range(6, 30, 3)), {"stream": [], "first six weeks": []}
spoken = {"parcels and vans": [], "drones": []}
for number in range(30):
    texts, truth = week(number)
    if number == 6:
        stopped = deepcopy(stream)
    if number in weeks:
        for name, model in (("stream", stream), ("first six weeks", stopped)):
            accuracy[name].append(np.mean(model.predict(texts) == truth))
    stream.partial_fit(texts, np.where(random.random(len(texts)) < 0.1, truth, ""))
    links = stream.estimator_.target_components_
    delivery = links[:, stream.classes_.tolist().index("delivery")] / links.sum(axis=1)
    profile = delivery @ stream.estimator_.components_
    for name, own in (("parcels and vans", words["delivery"]), ("drones", newer)):
        spoken[name].append(profile[np.isin(vocabulary, own)].sum() / profile.sum())

# %%
# Above: the words of the delivery topics; the rest are words that all messages share. Below:
# accuracy on messages that have not been learned yet.

figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 4.8), layout="constrained", sharex=True)
for (name, values), colour in zip(spoken.items(), ("#1f5a96", "#c2571a"), strict=True):
    top.plot(values, color=colour, linewidth=2, label=name)
for (name, values), colour in zip(accuracy.items(), ("#2a8a57", "#777777"), strict=True):
    bottom.plot(weeks, values, "o-", color=colour, linewidth=2, label=name)
top.set(ylabel="share of the words", ylim=(0, 0.8))
bottom.set(ylabel="accuracy", xlabel="week", ylim=(0.5, 1.03))
for ax in (top, bottom):
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="center left")
