"""
Noise models and λ
==================

How much should a target count relative to the data? If you know the noise of both, the answer
follows from maximum likelihood: pass noise models instead of losses, and λ (``supervision``) is
computed.
"""

# %%
# Artificial data: sales of 40 products in 300 shops (counts, so Poisson), and the income of each
# shop (with Gaussian noise). Both come from three hidden kinds of customers.

from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np

from cofactor import SSNMFRegressor, noise

random = np.random.default_rng(1)
customers, tastes = random.dirichlet([0.4] * 3, 300), random.dirichlet([0.3] * 40, 3)
counts = random.poisson(15 * customers @ tastes)
worth, variance = customers @ [1.0, 4.0, 9.0], 0.5
income = np.maximum(worth + random.normal(0, np.sqrt(3 * variance), 300), 0)

# %%
# Specify the noise. Here λ = 1 / (2 r σ), where r is the number of topics and σ the variance of a
# summand.

settings = {"head": "joint", "init": "random", "tol": 1e-3, "random_state": 0}
said = SSNMFRegressor(
    3, data_loss=noise.Poisson(), target_loss=noise.Gaussian(variance), **settings
)
said.fit(counts, income)
print(f"λ by maximum likelihood: {said.supervision_:.2f}")

# %%
# Compare it with other weights, using the truth that only artificial data provide: the errors of
# the customers' shares and of the income without noise.


def errors(model):
    """Return the mean error of the shares, and that of the income."""
    mass = model.representation_ * model.components_.sum(axis=1)
    shares = mass / mass.sum(axis=1, keepdims=True)
    distances = [np.abs(shares[:, p] - customers).sum(axis=1) / 2 for p in permutations(range(3))]
    fitted = model.representation_ @ model.target_components_[:, 0] + model.coding.offset
    return np.mean(distances, axis=1).min(), np.sqrt(np.mean((fitted - worth) ** 2))


weights = np.geomspace(1e-3, 1e2, 11)
tried = [
    SSNMFRegressor(3, supervision=weight, **settings).fit(counts, income) for weight in weights
]
found = np.array([errors(model) for model in tried])

# %%
# With a small λ the income is hardly used; with a large one its noise is fitted. Errors are shown
# relative to the smallest one. Both are smallest at the maximum-likelihood λ.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for errors_of, colour, label in zip(
    (found / found.min(axis=0)).T, ("#2a8a57", "#c2571a"), ("shares", "income"), strict=True
):
    ax.semilogx(weights, errors_of, "o-", color=colour, linewidth=2, label=f"error of the {label}")
ax.axvline(said.supervision_, color="#777777", linewidth=1.5, linestyle="dashed")
ax.text(said.supervision_ * 1.15, ax.get_ylim()[1], "maximum likelihood", color="#555555", va="top")
ax.set(xlabel="λ (supervision)", ylabel="error, relative to the best")
ax.legend(frameon=False, loc="center right")
ax.spines[["top", "right"]].set_visible(False)
