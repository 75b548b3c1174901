"""The public API: the one list behind the reference and its tests."""

import inspect
from importlib import import_module

MODULES = (
    "cofactor",
    "cofactor.text",
    "cofactor.callbacks",
    "cofactor.datasets",
    "cofactor.divergences",
    "cofactor.metrics",
    "cofactor.model_selection",
    "cofactor.noise",
    "cofactor.priors",
    "cofactor.distributed",
    "cofactor.sc",
)

# Methods of public classes that other packages of cofactor call and users need not.
PLUMBING = {
    "amend",
    "answer",
    "assign",
    "block",
    "callbacks",
    "cast",
    "coding",
    "compact",
    "completed",
    "constant",
    "coordinate_descent",
    "copy",
    "count_words",
    "curvature",
    "digests",
    "doubt",
    "each",
    "fit_after",
    "fitted",
    "forget_held_out",
    "get",
    "has_barrier",
    "has_samples",
    "hold_out",
    "largest",
    "learn",
    "map",
    "match",
    "matrix_problem",
    "named",
    "on_fit_task_begin",
    "on_fit_task_end",
    "on_texts_encoded",
    "only",
    "own_units",
    "padded",
    "pooled_head",
    "probabilities",
    "read",
    "replace",
    "rows",
    "sample",
    "scores",
    "set_fitted",
    "settle",
    "setup",
    "share",
    "spared",
    "take",
    "targets",
    "teardown",
    "topic_scores",
    "uniform",
    "view",
    "with_fitted",
    "with_padded",
    "without_labels",
}


def public_objects():
    """Full name and object of every public class and function."""
    for module in MODULES:
        home = import_module(module)
        for name in home.__all__:
            found = getattr(home, name)
            if inspect.isclass(found) or inspect.isroutine(found):
                yield f"{module}.{name}", found


def public_methods(cls):
    """Name and object of the methods and properties of a class that are for users."""
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if is_for_users(name, member):
            yield name, member


def is_for_users(name, member):
    """Whether a method or property is ours, public, and not plumbing."""
    member = getattr(member, "fget", None) or getattr(member, "__func__", member)
    ours = inspect.isfunction(member) and member.__module__.startswith("cofactor")
    return ours and not name.startswith("_") and name not in PLUMBING
