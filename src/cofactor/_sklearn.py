"""What scikit-learn offers to authors of estimators but does not promise to keep.

The one place that imports it, so that a change there is a change here. `make nightly` tests it with
the next release.
"""

from sklearn.callback import CallbackSupportMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

__all__ = ["CallbackSupportMixin", "HasMethods", "Interval", "StrOptions"]
