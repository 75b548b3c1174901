"""
Digits: parts and classes
=========================

Images of digits are nonnegative, so their topics are images, too: parts that add up to a digit.
With ten labels per digit, every part is linked to the digits that use it.
"""

# %%
# scikit-learn comes with 1,797 images of 8 × 8 pixels. A hundred of them keep their label; −1
# means "unlabelled".

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from cofactor import SSNMFClassifier

X, truth = load_digits(return_X_y=True)
random = np.random.default_rng(0)
known = np.concatenate([random.permutation(np.flatnonzero(truth == c))[:10] for c in range(10)])
labels = np.full(len(truth), -1)
labels[known] = truth[known]

model = SSNMFClassifier(20, tol=1e-3, random_state=0).fit(X, labels)
hidden = labels == -1
print(f"accuracy on the other images: {np.mean(model.predict(X[hidden]) == truth[hidden]):.1%}")

# %%
# Above: the twenty parts, ordered by digit. Below: how much each digit uses each part, averaged
# over its images.

mass = model.transform(X) * model.components_.sum(axis=1)
use = np.array([mass[truth == digit].mean(axis=0) for digit in range(10)])
use /= use.sum(axis=1, keepdims=True)
order = np.lexsort((-use.max(axis=0), use.argmax(axis=0)))

figure = plt.figure(figsize=(9, 5.4), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=[1, 1.5])
for ax, part in zip(top.subplots(2, 10).ravel(), order, strict=True):
    ax.imshow(model.components_[part].reshape(8, 8), cmap="Greys")
    ax.set_title(f"{part}", fontsize=8, pad=2)
    ax.set(xticks=[], yticks=[])
ax = bottom.subplots()
image = ax.imshow(use[:, order], cmap="Blues", aspect="auto", vmin=0)
ax.set_xticks(range(20), order, fontsize=9)
ax.set_yticks(range(10))
ax.set(xlabel="part", ylabel="digit")
bar = bottom.colorbar(image, ax=ax, format="{x:.0%}", label="share of the part")
