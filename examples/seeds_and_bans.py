"""
Seed words, banned words
========================

You know what you are looking for, and which words get in the way. Seeds pull a topic towards your
words throughout the fit; a banned word is kept out of a topic, now and in later fits.
"""

# %%
# Artificial reviews of a hotel: rooms, food and, rarely, staff. The booking site adds two words
# to each review. There are no labels.

import matplotlib.pyplot as plt
import numpy as np

from cofactor import TopicModel

random = np.random.default_rng(0)
subjects = {
    "room": "bed pillow shower balcony view carpet window quiet".split(),
    "food": "breakfast coffee bread buffet dinner soup dessert fresh".split(),
    "staff": "reception friendly helpful smile concierge polite luggage welcome".split(),
}
footer = "verified booking mobile traveller score device stayed submitted".split()
texts = []
for _ in range(400):
    first, second = random.choice(list(subjects), 2, p=[0.485, 0.485, 0.03])
    words = [*random.choice(subjects[first], 6), *random.choice(subjects[second], 3)]
    texts.append(" ".join([*words, *random.choice(footer, 2)]))

# %%
# Plain topics do not find the staff: it shares a topic with rooms. Two seed words are enough to
# give it a separate topic.

plain = TopicModel(3, random_state=0).fit(texts)
seeded = TopicModel(3, seeds={"staff": ["friendly", "helpful"]}, random_state=0).fit(texts)

# %%
# The words of the booking site are in all topics. A ban takes effect at once, and ``refit`` keeps
# it. ``drift_`` shows what the refit changed: here next to nothing.

banned = seeded
for topic in range(3):
    banned = banned.ban(topic, footer)
banned = banned.refit(texts)
print(banned.drift_)

# %%
# Each bar is a topic, divided into the subjects that its words come from.

colours = {"room": "#1f5a96", "food": "#2a8a57", "staff": "#c2571a", "booking site": "#bbbbbb"}
figure, axes = plt.subplots(1, 3, figsize=(8, 3.4), layout="constrained", sharey=True)
for ax, model, title in zip(
    axes, (plain, seeded, banned), ("plain", "seeds", "seeds and bans"), strict=True
):
    words = model.vectorizer_.get_feature_names_out()
    P = model.estimator_.components_ / model.estimator_.components_.sum(axis=1, keepdims=True)
    low = np.zeros(3)
    for name, colour in colours.items():
        share = P[:, np.isin(words, subjects.get(name, footer))].sum(axis=1)
        ax.bar(range(3), share, 0.75, bottom=low, color=colour, label=name)
        low += share
    names = [name if name in subjects else name.split(",")[0] + " …" for name in model.topic_names_]
    ax.set_xticks(range(3), names, fontsize=9)
    ax.set_title(title, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].yaxis.set_major_formatter("{x:.0%}")
axes[0].set_ylabel("share of the words")
legend = figure.legend(
    *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
)
