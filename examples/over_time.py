"""
Topics over time
================

Texts have dates: which subjects rise, which fade, and what is new within a topic? The model stays
the same; only the shares change from month to month.
"""

# %%
# Artificial questions to a help desk over two years. Questions about printers fade, those about
# remote work rise in the second spring, and questions about accounts stay constant. One in eight
# is labelled.

from datetime import date, timedelta

import numpy as np

from cofactor import TopicModel

random = np.random.default_rng(0)
words = {
    "printing": "printer paper toner jam tray queue driver scanner".split(),
    "accounts": "password login locked reset username expired token access".split(),
    "remote work": "vpn camera headset meeting laptop home tunnel screen".split(),
    "orders": "mouse keyboard monitor order delivery invoice budget approval".split(),
}
usual = "please problem since office today again help works".split()


def weights(day):
    """Return how often each subject is asked about on a day."""
    t = day / 730
    return np.array(
        [1.2 - t, 0.7, 0.15 + 1.6 / (1 + np.exp(-30 * (t - 0.6))), 0.5 + 0.2 * np.sin(12.6 * t)]
    )


texts, labels, dates = [], [], []
for day in np.sort(random.integers(730, size=1500)):
    subject = random.choice(list(words), p=weights(day) / weights(day).sum())
    own = words[subject][:6] if day < 500 else words[subject]  # the last two words come later
    texts.append(" ".join([*random.choice(own, 5), *random.choice(usual, 4)]))
    labels.append(subject if random.random() < 1 / 8 else "")
    dates.append(date(2024, 1, 1) + timedelta(days=int(day)))

model = TopicModel(4, random_state=0).fit(texts, labels)

# %%
# Shares of the classes by month. Bands are 95 % intervals.

ax = model.plot_over_time(texts, dates, "month", kind="class", names=list(words))

# %%
# The table behind the plot also lists words that have become more frequent in a topic.

for row in model.over_time(texts, dates, "quarter"):
    if row.kind == "topic" and row.rising:
        print(f"{row.period}  {row.name:28}  {row.share:4.0%}  rising: {', '.join(row.rising[:3])}")
