"""The order of the gallery: from what most users need to what few do."""

FIRST = (
    "five_labels",
    "labels_versus_accuracy",
    "topics_and_classes",
    "seeds_and_bans",
    "choosing_k",
    "over_time",
    "streaming_drift",
    "missing_ratings",
    "digits",
    "spectra",
    "single_cells",
    "blood_cells",
    "noise_models",
    "own_divergence",
)


class Order:
    """A key that sorts the scripts of a folder; scripts that are not listed come last."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, file):
        name = file.removesuffix(".py")
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)

    def __repr__(self):
        return "Order"
