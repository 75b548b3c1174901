"""
Your own divergence
===================

A divergence defines the cost of an error. One object with up to six coefficients describes it,
and everything else follows: updates that never raise the objective, predictions, model folders.
This example adds one that cofactor does not have: Kullback–Leibler plus Itakura–Saito.
"""

# %%
# The coefficients belong to −x·log p, p, −x·p, p²/2, x/p and log p; the part without p follows from
# d(x, x) = 0. Kullback–Leibler is x·log(x/p) − x + p, and Itakura–Saito is x/p − log(x/p) − 1.

import matplotlib.pyplot as plt
import numpy as np

from cofactor import NMF, Divergence
from cofactor.divergences import Frobenius, ItakuraSaito, KullbackLeibler

both = Divergence("both", degree=1, log=1.0, up=1.0, inverse=1.0, concave=1.0, positive=True)
losses = [Frobenius, KullbackLeibler, ItakuraSaito, both]

# %%
# Artificial music: the power of 60 frequencies at 200 points in time. A loud bass and a flute, a
# hundred times fainter, play in turn and together. The noise is proportional to the power, and
# there is a little background hiss.

random = np.random.default_rng(0)
frequency, time = np.arange(60), np.arange(200)


def tone(base, partials, power):
    """Return the power of a tone and its overtones."""
    peaks = [np.exp(-0.5 * ((frequency - base * k) / 0.9) ** 2) / k for k in range(1, partials + 1)]
    return power * np.sum(peaks, axis=0) + 1e-3


tones = np.array([tone(6, 5, 40.0), tone(17, 3, 0.4)])
play = np.column_stack([time % 100 < 60, (time + 70) % 90 < 55]) * random.uniform(0.5, 1, (200, 2))
power = play @ tones * random.gamma(8, 1 / 8, (200, 60)) + random.exponential(0.003, (200, 60))

# %%
# Find two topics with each divergence, and compare them with the tones.


def find_tones(loss):
    """Return the topics in the order of the tones, and their cosines with them."""
    model = NMF(2, data_loss=loss, tol=1e-5, max_iter=1000, random_state=0).fit(power)
    assert np.all(np.diff(model.history_["objective"]) <= 0)
    A = model.components_ / np.linalg.norm(model.components_, axis=1, keepdims=True)
    A = A if A[0] @ tones[0] > A[1] @ tones[0] else A[::-1]
    return A, np.sum(A * tones, axis=1) / np.linalg.norm(tones, axis=1)


found = {loss.name: find_tones(loss) for loss in losses}
for name, (_, cosines) in found.items():
    print(f"{name}: bass {cosines[0]:.3f}, flute {cosines[1]:.3f}")

# %%
# Left: the cost of fitting 1 by p. Right: the true tones in grey, those found in colour, each
# scaled to its largest value. The bass drowns out the flute unless errors are relative to the
# power.

colours = ("#777777", "#1f5a96", "#2a8a57", "#c0392b")
figure = plt.figure(figsize=(8.5, 4.4), layout="constrained")
grid = figure.add_gridspec(4, 3, width_ratios=[1.1, 1, 1])
left, p = figure.add_subplot(grid[:, 0]), np.linspace(0.1, 4, 200)
for row, (loss, colour) in enumerate(zip(losses, colours, strict=True)):
    left.plot(p, loss.value(1.0, p), color=colour, linewidth=2, label=loss.name)
    for column in range(2):
        ax = figure.add_subplot(grid[row, column + 1])
        own, cosine = found[loss.name][0][column], found[loss.name][1][column]
        ax.fill_between(frequency, tones[column] / tones[column].max(), color="#cfcfcf")
        ax.plot(frequency, own / own.max(), color=colour, linewidth=1.7)
        ax.text(59, 0.8, f"{cosine:.2f}", ha="right", color=colour)
        ax.set(yticks=[], xticks=[], ylim=(0, 1.08))
        ax.spines[["top", "right", "left"]].set_visible(False)
        if row == 0:
            ax.set_title(("loud bass", "faint flute")[column], fontsize=11)
        if row == 3:
            ax.set_xlabel("frequency")
left.set(ylim=(0, 7), xlabel="p")
left.set_title("cost of fitting 1 by p", fontsize=11)
left.legend(frameon=False, loc="upper center", fontsize=9)
left.spines[["top", "right"]].set_visible(False)
