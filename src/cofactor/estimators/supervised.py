"""Factorizations of data and targets together: `fit`, `partial_fit`, and scores of predictions.

`Supervised` adds targets, heads and scores to `base.Factorization`; `classifier` and `regressor`
add what is particular to classes and to numbers.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from cofactor._sklearn import Interval, StrOptions
from cofactor._types import FloatArray, IntArray
from cofactor.engine.factors import Factors
from cofactor.engine.observations import Observations
from cofactor.engine.threads import Threads
from cofactor.estimators import validation
from cofactor.estimators.base import LOSS, Factorization, blocks_of
from cofactor.estimators.classification_or_regression import Coding, Task, counted_groups
from cofactor.estimators.fitted import Fitted, shown
from cofactor.estimators.heads import HeldOut, PooledHead, hold_out
from cofactor.estimators.inference import masses
from cofactor.estimators.setup import Settings
from cofactor.estimators.streaming import with_stream_head
from cofactor.estimators.units import unit_observations, unit_weights
from cofactor.linear.guess import as_numbers
from cofactor.linear.pool import ExpectedScore
from cofactor.linear.views import Side
from cofactor.outofcore import RowBlocks
from cofactor.targets.classes import refuse_weightless, weigh_classes
from cofactor.targets.values import ValueCoding


class Supervised(Factorization):
    """A factorization of data and targets together."""

    _parameter_constraints: ClassVar[dict] = {
        **Factorization._parameter_constraints,
        "target_loss": LOSS,
        "supervision": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"auto", "random", "nndsvd", "labels"}), Factors],
        "head": [StrOptions({"pooled", "refit", "joint"})],
    }
    _task: ClassVar[Task]

    target_components_ = shown(
        "target_components", "Targets of the topics, of shape (n_components, n_targets)."
    )
    supervision_ = shown("supervision", "λ that the fit used.")

    def __init__(
        self,
        n_components: int = 10,
        *,
        data_loss: Any = "kullback-leibler",
        target_loss: Any = "kullback-leibler",
        supervision: float | str = "auto",
        solver: str = "auto",
        init: str | Factors = "auto",
        max_iter: int = 200,
        tol: float = 1e-4,
        priors: dict[str, Any] | None = None,
        fixed: dict[str, Any] | None = None,
        head: str = "pooled",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.data_loss = data_loss
        self.target_loss = target_loss
        self.supervision = supervision
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.priors = priors
        self.fixed = fixed
        self.head = head
        self.n_jobs = n_jobs
        self.random_state = random_state

    @validation.checks_parameters
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        data_weights: Any = None,
        target_weights: Any = None,
        side: Any = None,
    ) -> Self:
        """Learn topics that explain X and predict y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or RowBlocks
            Nonnegative data; NaN is missing, zeros are observed.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; the class's documentation says how unknown ones are marked. RowBlocks may
            have their own.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts.
        data_weights : array-like or sparse matrix, optional
            Weight of each cell of X, shape (n_samples, n_features), or of rows (n_samples, 1) or
            columns (1, n_features). Of a sparse matrix only the stored cells are observed.
        target_weights : array-like, optional
            Confidence in each label, shape (n_samples,), or in each cell of the targets.
        side : array-like or sparse matrix of shape (n_samples, n_columns), optional
            What is known of the samples beside X: vectors of any sign, such as those of an encoder
            of texts, or, if it is sparse, further features, which are nonnegative. It helps to
            predict classes with ``head="pooled"``; topics are made of X alone. The model needs it
            for predictions, too.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import SSNMFClassifier
        >>> X = np.array([[3, 0, 1], [4, 0, 2], [0, 5, 1], [0, 4, 0]])
        >>> y = np.array(["cat", "", "dog", ""], dtype=object)
        >>> SSNMFClassifier(2, random_state=0).fit(X, y).predict(X).tolist()
        ['cat', 'cat', 'dog', 'dog']
        """
        self._fit(X, y, sample_weight, data_weights, target_weights, side=side)
        return self

    @validation.checks_parameters
    def partial_fit(
        self, X: Any, y: Any, *, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from one batch of a stream.

        The first batch starts the topics and must have labels. Later batches refine the topics;
        their influence decays. Unlabelled samples get guesses from all labels seen so far. One
        batch is one iteration of ``fit``; ``representation_`` is that of the last batch.

        With ``head="pooled"`` the stream keeps labelled samples and, as far as they fit, an even
        sample of the others, together up to 2**21 stored cells (about 25 MB). The head is fitted on
        them at its first use after a batch, so predicting after every batch is slow. If a ``fit``
        came before, or a saved model was loaded, that model's head stays in use until the
        stream has seen as many labels as that model, and one of each of its classes. The head of a
        stream sees X alone; where it has taken over, ``side`` may be given but changes nothing.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets, as in ``fit``.
        classes : array-like, optional
            All classes of the stream, if the first batch does not show each of them. Later calls
            ignore it.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import SSNMFClassifier
        >>> X = np.array([[3, 0, 1], [4, 0, 2], [0, 5, 1], [0, 4, 0]])
        >>> y = np.array(["cat", "", "dog", ""], dtype=object)
        >>> model = SSNMFClassifier(2, random_state=0)
        >>> for _ in range(3):  # a new batch each time
        ...     model = model.partial_fit(X, y)
        >>> model.predict([[1, 0, 0]]).tolist(), model.n_samples_seen_
        (['cat'], 12)
        """
        _refuse_balanced(getattr(self, "class_weight", None))
        before: Fitted | None = getattr(self, "_fitted", None)
        known = before is not None and before.target_components is not None
        X = validation.check_data(self, X, reset=not known)
        counts = validation.check_counts(sample_weight, X)
        coding: Coding | None
        if before is not None and known:
            coding, signed = before.coding, self.head == "pooled"
            targets = self._task.encode_again(y, X.shape[0], coding, signed=signed)
            coding = coding.without_limits() if isinstance(coding, ValueCoding) else coding
        else:
            settings = Settings.of(self)
            targets, coding = self._task.encode_first_batch(
                y,
                X.shape[0],
                counts,
                classes,
                X.dtype,
                from_zero=settings.from_zero,
                log=settings.log,
            )
        first = before is None or before.stream is None
        if first and not targets.labelled.any():
            raise ValueError(
                "y has no labelled sample; the first batch of a stream must have some, because "
                "the topics start from it."
            )
        weighed = weigh_classes(targets, self._class_weights(targets, coding, counts))
        if first:
            refuse_weightless(targets, weighed)
        self._learn(X, counts, weighed, coding)
        return self

    def fit_transform(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        data_weights: Any = None,
        target_weights: Any = None,
        side: Any = None,
    ) -> Any:
        """Fit, then represent the samples without their labels: ``fit(X, y).transform(X)``.

        Parameters are those of ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import SSNMFClassifier
        >>> X = np.array([[3, 0, 1], [4, 0, 2], [0, 5, 1], [0, 4, 0]])
        >>> y = np.array(["cat", "", "dog", ""], dtype=object)
        >>> SSNMFClassifier(2, random_state=0).fit_transform(X, y).shape
        (4, 2)
        """
        self.fit(
            X,
            y,
            sample_weight=sample_weight,
            data_weights=data_weights,
            target_weights=target_weights,
            side=side,
        )
        return self.transform(X, data_weights=data_weights)

    def completed(self) -> Fitted:
        """Return the state; fit the head of a stream first if it has none."""
        fitted = self.fitted
        if fitted.awaits_head:
            with Threads(self.n_jobs) as threads:
                complete = with_stream_head(fitted, Settings.of(self), self._task, threads)
            fitted = self._settle(fitted, complete)
        return fitted

    def _put_off(self) -> set[str]:
        fitted: Fitted | None = getattr(self, "_fitted", None)
        waits = fitted is not None and fitted.awaits_head
        return {"expected_score_", "pooled_head"} if waits else set()

    @property
    def coding(self) -> Any:
        """How y became columns of targets, and how predictions turn back into y."""
        return self.fitted.coding

    @property
    def pooled_head(self) -> PooledHead | None:
        """The head that sees features and topics; None where ``target_components_`` predicts.

        That of a stream is fitted at its first use after a batch.
        """
        return self.completed().head if hasattr(self, "_fitted") else None

    @property
    def _is_pooled(self) -> bool:
        """Whether predictions come from a pooled head, fitted or not yet."""
        fitted: Fitted | None = getattr(self, "_fitted", None)
        return fitted is not None and (fitted.head is not None or fitted.awaits_head)

    @property
    def expected_score_(self) -> ExpectedScore | None:
        """The score to expect on new samples, which a stream estimates together with its head."""
        if not self._is_pooled:
            raise AttributeError("expected_score_ needs head='pooled' and labels.")
        return self.completed().expected_score

    def held_out_predictions(
        self, X: Any, y: Any, *, sample_weight: Any = None, side: Any = None
    ) -> FloatArray:
        """Return predictions of known targets by models that have not seen them.

        These are the predictions from which ``expected_score_`` is computed if X, y and
        ``sample_weight`` are those of the fit, which a model does not keep. They come from the
        features' part of the pooled head alone.

        Parameters
        ----------
        X, y, sample_weight, side
            As in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_targets)
            Scores of classes; for several labels per sample, scores minus thresholds; or numbers on
            the scale of ``scores``. NaN where nothing was held out, such as for samples without any
            feature.

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import SSNMFClassifier
        >>> X = np.eye(4)[[0, 0, 1, 2, 2, 3, 0, 2]] + 0.1
        >>> y = np.array(["a", "a", "a", "b", "b", "b", "", ""], dtype=object)
        >>> model = SSNMFClassifier(2, random_state=0).fit(X, y)
        >>> scores = model.held_out_predictions(X, y)
        >>> right = model.classes_[scores[:6].argmax(axis=1)] == y[:6]
        >>> bool(right.mean() == model.expected_score_.value)
        True
        """
        return self.hold_out(X, y, sample_weight=sample_weight, side=side).predictions

    def hold_out(self, X: Any, y: Any, *, sample_weight: Any = None, side: Any = None) -> HeldOut:
        """Return the predictions of `held_out_predictions`, and models that do not know some
        labels."""
        if not self._is_pooled:
            raise ValueError("This model has no pooled head; fit it with head='pooled' and labels.")
        data, coding = self.own_units(X), self.coding
        signed = self._task.numbers
        targets = self._task.encode_again(y, data.shape[0], coding, signed=signed)
        counts = validation.check_counts(sample_weight, X)
        targets = weigh_classes(targets, self._class_weights(targets, coding, counts))
        kind = self._task.kind(coding)
        groups = None
        if kind == "classes":
            groups = counted_groups(self._task, targets, counts, len(self.components_))
        numbers = as_numbers(unit_weights(counts, literal=True)[0])
        exponent = self.fitted.units.data
        side = None if side is None else validation.check_side(side, data.shape[0])
        with Threads(self.n_jobs) as threads:
            return hold_out(
                kind,
                data,
                numbers,
                targets,
                groups,
                exponent,
                threads,
                side,
                exposed=self.is_exposed,
            )

    def without_labels(self, held_out: HeldOut, rows: IntArray) -> Self:
        """Return a copy whose linear models of classes do not know the labels of some samples."""
        other, head = copy(self), self.pooled_head
        assert head is not None
        other.amend(head=held_out.head_without(rows, head, self.fitted.inside()))
        return other

    def forget_held_out(self, *, familiar: bool = False) -> None:
        """Forget what held-out labels said about new samples: these labels were not known ones.

        ``familiar``: also forget the labelled samples that new ones are compared with.
        """
        head = self.pooled_head
        if head is not None:
            kept = None if familiar else head.familiar
            head = replace(head, held_out=None, held_out_unlike=None, familiar=kept)
        self.amend(head=head, expected_score=None)

    def scores(
        self,
        X: Any,
        *,
        representation: FloatArray | None = None,
        data_weights: Any = None,
        side: Any = None,
    ) -> FloatArray:
        """Return the numbers that predictions are read from.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or RowBlocks
            Nonnegative data; NaN is missing.
        representation : array of shape (n_samples, n_components), optional
            ``transform(X)``, if it is known.
        data_weights : array-like or sparse matrix, optional
            Weights of the cells of X, as in ``fit``.
        side : array-like or sparse matrix of shape (n_samples, n_columns), optional
            What a model fitted with ``side`` needs of the samples.

        Returns
        -------
        ndarray of shape (n_samples, n_targets)
        """
        if self.fitted.target_components is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted without a single labelled sample, so it "
                "cannot predict; fit it with labels, or use transform."
            )
        head = self.pooled_head
        streams = self.fitted.reservoir is not None
        side = validation.check_known_side(head, side, X, streams=streams)
        S = self._represent(X, data_weights) if representation is None else representation
        if head is None:
            return np.asarray(S @ self.target_components_)
        if isinstance(X, RowBlocks):
            parts = zip(blocks_of(X), np.split(S, X.bounds[1:-1]), strict=True)
            blocks = [self._pooled(head, *part, None) for part in parts]
            return np.concatenate(blocks)
        return self._pooled(head, X, S, data_weights, side)

    def view(self, X: Any) -> Any:
        """Return samples as the pooled head sees them, a matrix of the shape of X.

        ``view(X) @ pooled_head.weights + pooled_head.base`` is what the features add to the scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data; NaN is missing.
        """
        if self.pooled_head is None:
            raise ValueError("This model has no pooled head; fit it with head='pooled' and labels.")
        return self.pooled_head.view.of(self.own_units(X, None))

    def _pooled(
        self, head: PooledHead, X: Any, S: FloatArray, data_weights: Any, side: Side | None = None
    ) -> FloatArray:
        data = self.own_units(X, data_weights)
        with Threads(self.n_jobs) as threads:
            return head.scores(data, S, self.components_, threads, side)

    def topic_scores(self) -> FloatArray:
        """Return the scores of a sample of usual size that is all one topic.

        Returns
        -------
        ndarray of shape (n_components, n_targets)
            Without ``head="pooled"``, fitted targets of a sample of mass one.
        """
        if self.pooled_head is None:
            return np.asarray(self.target_components_ / masses(self.components_)[:, None])
        with Threads(self.n_jobs) as threads:
            return self.pooled_head.topic_scores(self.components_, threads)

    @property
    def is_exposed(self) -> bool:
        """Whether the total of a sample is a scale."""
        return getattr(self, "exposure", None) == "total"

    def own_units(self, X: Any, data_weights: Any = None) -> Observations:
        """Check samples, and bring them into the units of the fit."""
        X = validation.check_data(self, X, reset=False)
        W = validation.check_weights("data_weights", data_weights, X.shape)
        data, _ = unit_observations(validation.observed_data(X, W), literal=True)
        return data.shifted(self.fitted.units.data)


def _refuse_balanced(asked: Any) -> None:
    if isinstance(asked, str):
        raise ValueError(
            f"class_weight={asked!r} cannot be used with partial_fit, because the batches to come "
            "are not known; pass a dict of weights, such as those of "
            "sklearn.utils.class_weight.compute_class_weight for a sample of the stream."
        )
