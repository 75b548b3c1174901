"""
Missing ratings filled in
=========================

Most people have rated few films. ``NMF`` accepts NaN for unknown ratings, finds topics in the
known ones, and predicts any cell. We compare it with a simple but strong baseline: damped biases,
the mean rating plus the usual deviation of this person and this film.
"""

# %%
# Artificial ratings from 1 to 5: six groups of people with different tastes, five genres of
# films, films that everyone likes more or less, and noise. One rating in six is known.

import matplotlib.pyplot as plt
import numpy as np

from cofactor import NMF

random = np.random.default_rng(0)
people, films = np.sort(random.integers(6, size=240)), np.sort(random.integers(5, size=120))
taste = random.normal(0, 1.0, (6, 5))
truth = 3.2 + taste[people][:, films] + random.normal(0, 0.4, 120) + random.normal(0, 0.3, (240, 1))
ratings = np.clip(np.rint(truth + random.normal(0, 0.5, truth.shape)), 1, 5)
known = random.random(ratings.shape) < 1 / 6
seen = np.where(known, ratings, np.nan)

# %%
# Fit, and predict the missing ratings. ``cells_.expected_rmse`` is the expected error, estimated
# from held-out cells.

model = NMF(5, random_state=0).fit(seen)
rows, columns = np.nonzero(~known)
filled = seen.copy()
filled[rows, columns] = model.predict_cells(rows, columns)

# %%
# Damped biases: sums are divided by counts plus 5, so that a few ratings do not count too much.

mean = np.nanmean(seen)
of_film = np.nansum(seen - mean, axis=0) / (known.sum(axis=0) + 5)
of_person = np.nansum(seen - mean - of_film, axis=1) / (known.sum(axis=1) + 5)
biases = mean + of_person[:, None] + of_film


def error(guess):
    """Return the root mean square error of the cells that nobody has rated."""
    return np.sqrt(np.mean((guess - ratings)[~known] ** 2))


print(
    f"error of the model {error(filled):.2f} (expected {model.cells_.expected_rmse:.2f}), "
    f"of damped biases {error(biases):.2f}"
)

# %%
# Rows are people and columns are films, both ordered by group.

figure, axes = plt.subplots(1, 4, figsize=(9, 4.2), layout="constrained", sharey=True)
shown = {
    f"known ratings ({known.mean():.0%})": seen,
    f"damped biases\nerror {error(biases):.2f}": biases,
    f"filled in by the model\nerror {error(filled):.2f}": np.where(known, np.nan, filled),
    "all ratings": ratings,
}
for ax, (title, matrix) in zip(axes, shown.items(), strict=True):
    image = ax.imshow(matrix, vmin=1, vmax=5, cmap="RdYlBu", aspect="auto", interpolation="nearest")
    ax.set_title(title, fontsize=10)
    ax.set(xticks=[], yticks=[], xlabel="films")
axes[0].set_ylabel("people")
bar = figure.colorbar(image, ax=axes, label="rating", shrink=0.8, ticks=range(1, 6))
