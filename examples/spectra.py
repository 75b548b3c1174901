"""
Spectra unmixed with a few labelled pixels
==========================================

Each pixel of an image has a spectrum: a mixture of the spectra of several materials, in unknown
shares. For a few pixels the material is known. The model finds the spectrum of each material and
a map of it.
"""

# %%
# An artificial scene of 60 × 60 pixels with 80 channels: four materials whose regions blend into
# one another, and photon noise. Ten pixels of each material are labelled, where it is almost
# pure.

import matplotlib.pyplot as plt
import numpy as np

from cofactor import SSNMFClassifier

random = np.random.default_rng(0)
names = ["water", "grass", "soil", "roof"]
channels = np.linspace(0.4, 2.4, 80)  # micrometres


def bump(centre, width):
    return np.exp(-(((channels - centre) / width) ** 2))


spectra = np.array(
    [
        0.9 * bump(0.45, 0.18) + 0.04,
        0.25 * bump(0.55, 0.06) + 0.8 * bump(1.0, 0.3) + 0.45 * bump(1.65, 0.18) + 0.05,
        0.15 + 0.55 * bump(1.9, 0.7),
        0.3 + 0.35 * bump(1.25, 0.12) + 0.35 * bump(2.15, 0.2),
    ]
)
y, x = np.mgrid[0:60, 0:60] / 60
fields = [
    np.sin(3 * x + 2 * y) + 0.6,
    1.2 * y + 0.5 * np.sin(7 * x),
    1.4 * x * (1 - y) + 0.3,
    1.5 * np.exp(-((x - 0.72) ** 2 + (y - 0.3) ** 2) / 0.04),
]
shares = np.exp(4 * np.stack(fields, axis=-1))
shares = (shares / shares.sum(axis=-1, keepdims=True)).reshape(-1, 4)
X = random.poisson(200 * shares @ spectra)

labels = np.full(len(X), "", dtype=object)
for m, name in enumerate(names):
    labels[random.permutation(np.argsort(-shares[:, m])[:60])[:10]] = name

# %%
# The default loss, Kullback–Leibler, suits photon counts. Each material gets one topic: its
# spectrum is a row of ``components_``, and ``transform`` gives its amount in each pixel.

model = SSNMFClassifier(4, supervision=1, tol=1e-5, random_state=0).fit(X, labels)
topics = [model.target_components_[:, c].argmax() for c in np.searchsorted(model.classes_, names)]
found = model.transform(X)[:, topics] * model.components_[topics].sum(axis=1) / spectra.sum(axis=1)
found /= found.sum(axis=1, keepdims=True)
for name, true, own in zip(names, shares.T, found.T, strict=True):
    print(f"{name}: correlation of true and found shares {np.corrcoef(true, own)[0, 1]:.3f}")

# %%
# Maps of the shares, true and found; dots are the labelled pixels. Below, the estimated spectra
# (lines) and the true ones (dots).

figure, axes = plt.subplots(3, 4, figsize=(8, 6.4), layout="constrained", sharey="row")
for m, (name, map_of) in enumerate(
    zip(names, ("Blues", "Greens", "Oranges", "Purples"), strict=True)
):
    for ax, values in zip(axes[:2, m], (shares, found), strict=True):
        ax.imshow(values[:, m].reshape(60, 60), cmap=map_of, vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    row, column = np.divmod(np.flatnonzero(labels == name), 60)
    axes[1, m].plot(column, row, ".", color="black", markersize=4)
    axes[0, m].set_title(name)
    spectrum, true = model.components_[topics[m]], spectra[m] / spectra[m].max()
    axes[2, m].plot(
        channels, spectrum / spectrum.max(), color=plt.get_cmap(map_of)(0.8), linewidth=2
    )
    axes[2, m].plot(channels[::3], true[::3], ".", color="black", markersize=3)
    axes[2, m].set(yticks=[], xlabel="wavelength (μm)")
    axes[2, m].spines[["top", "right", "left"]].set_visible(False)
for ax, label in zip(axes[:, 0], ("true share", "found share", "spectrum"), strict=True):
    ax.set_ylabel(label)
