"""Naive dense numpy versions of the mathematics: slow, literal, and independent of ``cofactor``.

Nothing here imports the library, so that agreement between the two means something.

Rows are samples everywhere: ``X`` (n x m) is approximated by ``S @ A.T`` and ``Y`` (n x k) by
``S @ B.T``, with ``S`` n x r ("samples"), ``A`` m x r ("features") and ``B`` k x r ("targets").
``W`` (n x m) and ``L`` (n x k) are nonnegative weights of the per-entry divergences. ``None`` means
all ones; a weight of 0 and a NaN entry both mean "missing". The objective is::

    sum_ij W_ij d_data(X_ij, (S A^T)_ij) + lam sum_ij L_ij d_target(Y_ij, (S B^T)_ij) + priors

``priors`` maps a factor name to a list of ``("l1", mu)``, ``("l2", nu)`` and
``("gamma", shape, rate)``.
``sample_weight`` (length n) multiplies the rows of W and of L, and the prior on the rows of S.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

FROBENIUS = "frobenius"
KL = "kullback-leibler"
IS = "itakura-saito"
LOSSES = (FROBENIUS, KL, IS)
FACTORS = ("features", "targets", "samples")  # in the order in which an iteration updates them


# ---------------------------------------------------------------- small pieces


def _observed(X, W, sample_weight=None):
    """X with 0 in the missing cells, and the weights with 0 there."""
    X = np.asarray(X, dtype=float)
    W = np.ones(X.shape) if W is None else np.array(W, dtype=float)
    if W.shape != X.shape:
        raise ValueError(f"weights have shape {W.shape}, the matrix {X.shape}")
    if sample_weight is not None:
        W = W * np.asarray(sample_weight, dtype=float)[:, None]
    W = np.where(np.isnan(X), 0.0, W)
    return np.where(W > 0, X, 0.0), W


def _divide(a, b):
    """a / b, and 0 where a is 0 (whatever b is)."""
    a, b = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
    out = np.zeros(a.shape)
    with np.errstate(divide="ignore", over="ignore"):
        np.divide(a, b, out=out, where=a != 0)
    return out


def _shifted(P, loss, eps):
    """The fitted values as the loss sees them: eps keeps KL and IS away from division by zero."""
    return P if loss == FROBENIUS else P + eps


def _minus_log1p(d):
    """d - log(1 + d) without cancellation: the alternating series d^2/2 - d^3/3 + ... near 0."""
    small = np.abs(d) < 0.1
    z = np.where(small, d, 0.0)
    series = np.zeros_like(z)
    for power in range(20, 1, -1):
        series = series * z + (-1) ** power / power
    return np.where(small, series * z * z, d - np.log1p(np.where(small, 0.0, d)))


# ---------------------------------------------------------------- divergences and objective


def entry_divergence(name, x, p):
    """d(x, p) entry by entry. KL: 0 log 0 = 0. IS: infinite where x or p is 0."""
    x, p = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(p, dtype=float))
    if name == FROBENIUS:
        return (x - p) ** 2
    with np.errstate(all="ignore"):
        if name == KL:
            near = np.abs(p - x) < x / 2
            close = x * _minus_log1p(np.where(near, (p - x) / x, 0.0))
            far = x * (np.log(x) - np.log(p)) - x + p
            return np.where(x == 0, p, np.where(near, close, far))
        if name == IS:
            near = np.abs(x - p) < p / 2
            close = _minus_log1p(np.where(near, (x - p) / p, 0.0))
            far = x / p - (np.log(x) - np.log(p)) - 1
            return np.where((x == 0) | (p == 0), np.inf, np.where(near, close, far))
    raise ValueError(f"unknown divergence {name!r}")


def divergence(name, X, P, W=None):
    """sum_ij W_ij d(X_ij, P_ij) over the observed entries, summed without rounding."""
    X, W = _observed(X, W)
    seen = W > 0
    P = np.broadcast_to(np.asarray(P, dtype=float), X.shape)
    return math.fsum(W[seen] * entry_divergence(name, X[seen], P[seen]))


def prior_value(V, priors, row_weight=None):
    """Minus log prior of one factor, constants dropped. ``priors`` is the list for this factor.

    L1: mu v. L2: (nu / 2) v^2. Gamma: rate v - (shape - 1) log v, infinite at v = 0 if shape > 1.
    """
    V = np.asarray(V, dtype=float)
    weight = np.ones(len(V)) if row_weight is None else np.asarray(row_weight, dtype=float)
    V, weight = V[weight > 0], weight[weight > 0]
    total = 0.0
    for kind, *parameters in priors:
        if kind == "l1":
            (mu,) = parameters
            value = mu * V
        elif kind == "l2":
            (nu,) = parameters
            value = nu / 2 * V**2
        elif kind == "gamma":
            shape, rate = parameters
            value = rate * V
            if shape != 1:
                with np.errstate(divide="ignore"):
                    value = value - (shape - 1) * np.log(V)
        else:
            raise ValueError(f"unknown prior {kind!r}")
        total += math.fsum((weight[:, None] * value).ravel())
    return total


class Value(NamedTuple):
    """``total = data + lam * target + priors``; ``data`` and ``target`` carry no lam."""

    data: float
    target: float
    total: float


def objective(
    X,
    Y,
    A,
    B,
    S,
    W=None,
    L=None,
    data_loss=FROBENIUS,
    target_loss=FROBENIUS,
    lam=1.0,
    priors=None,
    sample_weight=None,
    epsilon=0.0,
):
    """(data, target, total). ``epsilon`` is added to the fitted values of KL and IS terms."""
    priors = priors or {}
    X, W = _observed(X, W, sample_weight)
    data = divergence(data_loss, X, _shifted(S @ A.T, data_loss, epsilon), W)
    total = data
    target = 0.0
    if Y is not None:
        Y, L = _observed(Y, L, sample_weight)
        target = divergence(target_loss, Y, _shifted(S @ B.T, target_loss, epsilon), L)
        if lam > 0:
            total += lam * target
        total += prior_value(B, priors.get("targets", ()))
    total += prior_value(A, priors.get("features", ()))
    total += prior_value(S, priors.get("samples", ()), sample_weight)
    return Value(data, target, total)


# ---------------------------------------------------------------- gradient and optimality


def _slope_parts(name, X, P, W):
    """Weighted derivative of the divergence in P as (positive part, negative part), both >= 0."""
    if name == FROBENIUS:
        return 2 * W * P, 2 * W * X
    if name == KL:
        return W, W * _divide(X, P)
    if name == IS:
        return _divide(W, P), W * _divide(_divide(X, P), P)
    raise ValueError(f"unknown divergence {name!r}")


def _prior_slope_parts(V, priors, row_weight=None):
    weight = np.ones(len(V)) if row_weight is None else np.asarray(row_weight, dtype=float)
    up, down = np.zeros(V.shape), np.zeros(V.shape)
    for kind, *parameters in priors:
        if kind == "l1":
            up += parameters[0]
        elif kind == "l2":
            up += parameters[0] * V
        elif kind == "gamma":
            shape, rate = parameters
            up += rate
            down += _divide(np.full(V.shape, shape - 1.0), V)
        else:
            raise ValueError(f"unknown prior {kind!r}")
    # where, not a product: a weight of 0 silences even an infinite slope
    rows = weight[:, None]
    return np.where(rows > 0, up * rows, 0.0), np.where(rows > 0, down * rows, 0.0)


def gradient_parts(
    X,
    Y,
    A,
    B,
    S,
    W=None,
    L=None,
    data_loss=FROBENIUS,
    target_loss=FROBENIUS,
    lam=1.0,
    priors=None,
    sample_weight=None,
    epsilon=0.0,
):
    """Factor name -> (positive part, negative part) of the gradient; gradient = first - second."""
    priors = priors or {}
    X, W = _observed(X, W, sample_weight)
    up, down = _slope_parts(data_loss, X, _shifted(S @ A.T, data_loss, epsilon), W)
    parts = {"features": (up.T @ S, down.T @ S)}
    samples_up, samples_down = up @ A, down @ A
    if Y is not None:
        Y, L = _observed(Y, L, sample_weight)
        up, down = _slope_parts(target_loss, Y, _shifted(S @ B.T, target_loss, epsilon), L)
        parts["targets"] = (lam * up.T @ S, lam * down.T @ S)
        samples_up, samples_down = samples_up + lam * up @ B, samples_down + lam * down @ B
    parts["samples"] = (samples_up, samples_down)
    for name, V in {"features": A, "targets": B, "samples": S}.items():
        if name in parts:
            weight = sample_weight if name == "samples" else None
            prior_up, prior_down = _prior_slope_parts(V, priors.get(name, ()), weight)
            parts[name] = (parts[name][0] + prior_up, parts[name][1] + prior_down)
    return parts


def gradient(
    X,
    Y,
    A,
    B,
    S,
    W=None,
    L=None,
    data_loss=FROBENIUS,
    target_loss=FROBENIUS,
    lam=1.0,
    priors=None,
    sample_weight=None,
    epsilon=0.0,
):
    """Factor name -> gradient of the total objective ("targets" only if there is a Y)."""
    parts = gradient_parts(
        X, Y, A, B, S, W, L, data_loss, target_loss, lam, priors, sample_weight, epsilon
    )
    return {name: up - down for name, (up, down) in parts.items()}


class KKT(NamedTuple):
    absolute: float
    relative: float


def kkt_residual(
    X,
    Y,
    A,
    B,
    S,
    W=None,
    L=None,
    data_loss=FROBENIUS,
    target_loss=FROBENIUS,
    lam=1.0,
    priors=None,
    sample_weight=None,
    epsilon=0.0,
    factors=FACTORS,
):
    """How far from first-order optimality: V >= 0, G >= 0 and V G = 0 mean min(V, G) = 0.

    absolute: max over the factors of max |min(V, G)|, G the gradient.
    relative: the same with V divided by its largest entry and G by the largest entry of its two
    parts (G is a difference of two nonnegative matrices), so that units do not matter.
    ``factors`` restricts the check, e.g. to ("samples",) for inference with A fixed.
    """
    parts = gradient_parts(
        X, Y, A, B, S, W, L, data_loss, target_loss, lam, priors, sample_weight, epsilon
    )
    absolute = relative = 0.0
    for name, V in {"features": A, "targets": B, "samples": S}.items():
        if name not in parts or name not in factors:
            continue
        up, down = parts[name]
        G = up - down
        absolute = max(absolute, np.abs(np.minimum(V, G)).max())
        largest_part = max(up.max(), down.max())
        if not np.isfinite(largest_part):
            relative = np.inf
            continue
        scaled_V = V / (V.max() or 1.0)
        scaled_G = G / (largest_part or 1.0)
        relative = max(relative, np.abs(np.minimum(scaled_V, scaled_G)).max())
    return KKT(float(absolute), float(relative))


# ---------------------------------------------------------------- the paper's updates, literally


def _paper_frobenius(X, V, F, W, eps):
    """V <- V * (W X) F / ((W V F^T) F), for X ~ V F^T: one factor, one Frobenius term."""
    return V / (eps + (W * (V @ F.T)) @ F) * ((W * X) @ F)


def _paper_kl(X, V, F, W, eps):
    """V <- V / (W F) * [(W X) / (W V F^T) * W] F: one factor, one KL term."""
    return V / (eps + W @ F) * ((_divide(W * X, eps + W * (V @ F.T)) * W) @ F)


def _paper_samples_f_f(X, Y, A, B, S, W, L, lam, eps):
    """Lee et al.'s S step (the factors 2 of the two gradients cancel)."""
    numerator = (W * X) @ A + lam * (L * Y) @ B
    denominator = (W * (S @ A.T)) @ A + lam * (L * (S @ B.T)) @ B
    return S / (eps + denominator) * numerator


def _paper_samples_f_kl(X, Y, A, B, S, W, L, lam, eps):
    """Algorithm 1, line 5."""
    numerator = 2 * (W * X) @ A + lam * (_divide(L * Y, eps + L * (S @ B.T)) * L) @ B
    denominator = 2 * (W * (S @ A.T)) @ A + lam * L @ B
    return S / (eps + denominator) * numerator


def _paper_samples_kl_f(X, Y, A, B, S, W, L, lam, eps):
    """Algorithm 2, line 5."""
    numerator = (_divide(W * X, eps + W * (S @ A.T)) * W) @ A + 2 * lam * (L * Y) @ B
    denominator = W @ A + 2 * lam * (L * (S @ B.T)) @ B
    return S / (eps + denominator) * numerator


def _paper_samples_kl_kl(X, Y, A, B, S, W, L, lam, eps):
    """Algorithm 3, line 5."""
    numerator = (_divide(W * X, eps + W * (S @ A.T)) * W) @ A
    numerator = numerator + lam * (_divide(L * Y, eps + L * (S @ B.T)) * L) @ B
    denominator = W @ A + lam * L @ B
    return S / (eps + denominator) * numerator


_PAPER_ONE = {FROBENIUS: _paper_frobenius, KL: _paper_kl}
_PAPER_SAMPLES = {
    (FROBENIUS, FROBENIUS): _paper_samples_f_f,
    (FROBENIUS, KL): _paper_samples_f_kl,
    (KL, FROBENIUS): _paper_samples_kl_f,
    (KL, KL): _paper_samples_kl_kl,
}


def paper_updates(
    X,
    A,
    S,
    Y=None,
    B=None,
    W=None,
    L=None,
    data_loss=FROBENIUS,
    target_loss=FROBENIUS,
    lam=1.0,
    n_iter=1,
    eps=1e-10,
    factors=FACTORS,
):
    """The paper's six multiplicative methods: A, then B, then S, each with the newest others.

    ``eps`` is added to every divisor: where the published package ``ssnmf`` 1.0.3 adds it. A row
    without any weight goes to 0 (0 / eps). Returns (A, B, S, history), the history being the exact
    objective (no eps) after each iteration.
    """
    if data_loss not in _PAPER_ONE or target_loss not in _PAPER_ONE:
        raise ValueError("the paper knows Frobenius and Kullback-Leibler only")
    X, W = _observed(X, W)
    if Y is not None:
        Y, L = _observed(Y, L)
    history = []
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 is left visible with eps = 0
        for _ in range(n_iter):
            if "features" in factors:
                A = _PAPER_ONE[data_loss](X.T, A, S, W.T, eps)
            if "targets" in factors and Y is not None:
                B = _PAPER_ONE[target_loss](Y.T, B, S, L.T, eps)
            if "samples" in factors:
                if Y is None:
                    S = _PAPER_ONE[data_loss](X, S, A, W, eps)
                else:
                    step = _PAPER_SAMPLES[data_loss, target_loss]
                    S = step(X, Y, A, B, S, W, L, lam, eps)
            history.append(objective(X, Y, A, B, S, W, L, data_loss, target_loss, lam).total)
    return A, B, S, history


# ---------------------------------------------------------------- one rule for every model


class Numbers(NamedTuple):
    """Per entry of V, the surrogate of (old entry) * t is
    V * (q t^2 / 2 + (u - v) t - c log t + e / t)."""

    q: np.ndarray
    u: np.ndarray
    v: np.ndarray
    c: np.ndarray
    e: np.ndarray


def surrogate_numbers(V, terms, priors=(), row_weight=None, eps=1e-12):
    """The five numbers of each entry of V.

    ``terms`` is a list of (Z, F, W, loss, scale): scale * sum W d(Z, V F^T), with rows of Z the
    rows of V. ``priors`` is the list for this factor, ``row_weight`` multiplies the priors only.
    """
    V = np.asarray(V, dtype=float)
    q, u, v, c, e = (np.zeros(V.shape) for _ in range(5))
    for Z, F, W, loss, scale in terms:
        Z, W = _observed(Z, W)
        P = _shifted(V @ F.T, loss, eps)
        if loss == FROBENIUS:
            q += scale * 2 * (W * P) @ F
            v += scale * 2 * (W * Z) @ F
        elif loss == KL:
            c += scale * _divide(W * Z, P) @ F
            u += scale * W @ F
        elif loss == IS:
            e += scale * _divide(_divide(W * Z, P), P) @ F
            u += scale * _divide(W, P) @ F
        else:
            raise ValueError(f"unknown divergence {loss!r}")
    weight = np.ones(len(V)) if row_weight is None else np.asarray(row_weight, dtype=float)
    weight = weight[:, None] * np.ones(V.shape)
    for kind, *parameters in priors:
        if kind == "l1":
            u += weight * parameters[0]
        elif kind == "l2":
            q += weight * parameters[0] * V
        elif kind == "gamma":
            shape, rate = parameters
            c += _divide(weight * (shape - 1.0), V)
            u += weight * rate
        else:
            raise ValueError(f"unknown prior {kind!r}")
    return Numbers(q, u, v, c, e)


def positive_root(q, u, v, c, e):
    """The t >= 0 that minimises q t^2/2 + (u - v) t - c log t + e / t, by bisection.

    Its derivative q t + (u - v) - c / t - e / t^2 rises, so q t^3 + (u - v) t^2 - c t - e has one
    positive root. Without c and e the minimiser may be 0; with all five 0 nothing asks for a move
    and t is 1.
    """
    q, u, v, c, e = (np.asarray(number, dtype=float) for number in (q, u, v, c, e))
    slope = u - v
    pushed_up = (c > 0) | (e > 0)
    if np.any((q == 0) & (slope <= 0) & (pushed_up | (slope < 0))):
        raise ValueError("the surrogate falls for ever: no minimiser")
    lo, hi = np.full(q.shape, 1e-300), np.full(q.shape, 1e300)
    with np.errstate(over="ignore", divide="ignore"):
        for _ in range(75):
            t = np.sqrt(lo) * np.sqrt(hi)
            rising = q * t + slope - c / t - e / t / t > 0
            lo, hi = np.where(rising, lo, t), np.where(rising, t, hi)
    t = np.sqrt(lo) * np.sqrt(hi)
    t = np.where(~pushed_up & (slope >= 0), 0.0, t)
    return np.where((q == 0) & (slope == 0) & ~pushed_up, 1.0, t)


def update_factor(V, terms, priors=(), row_weight=None, eps=1e-12):
    """One surrogate step for one factor (arguments as in :func:`surrogate_numbers`).

    Entries that are exactly 0 stay 0; entries that no weight and no prior touches stay as they are.
    """
    V = np.asarray(V, dtype=float)
    new = np.zeros(V.shape)
    alive = V > 0
    numbers = surrogate_numbers(V, terms, priors, row_weight, eps)
    new[alive] = V[alive] * positive_root(*(number[alive] for number in numbers))
    return new


def surrogate_updates(
    X,
    A,
    S,
    Y=None,
    B=None,
    W=None,
    L=None,
    data_loss=FROBENIUS,
    target_loss=FROBENIUS,
    lam=1.0,
    n_iter=1,
    priors=None,
    sample_weight=None,
    eps=1e-12,
    factors=FACTORS,
):
    """The monotone updates: A, then B, then S, each with the newest others.

    Returns (A, B, S, history); the history is the objective that these steps descend, i.e.
    with ``epsilon=eps``, after each iteration.
    """
    priors = priors or {}
    prior_A, prior_B, prior_S = (priors.get(name, ()) for name in FACTORS)
    X, W = _observed(X, W)
    weighted_W = _observed(X, W, sample_weight)[1]
    if Y is not None:
        Y, L = _observed(Y, L)
        weighted_L = _observed(Y, L, sample_weight)[1]
    history = []
    for _ in range(n_iter):
        if "features" in factors:
            A = update_factor(A, [(X.T, S, weighted_W.T, data_loss, 1.0)], prior_A, eps=eps)
        if "targets" in factors and Y is not None:
            B = update_factor(B, [(Y.T, S, weighted_L.T, target_loss, lam)], prior_B, eps=eps)
        if "samples" in factors:
            terms = [(X, A, weighted_W, data_loss, 1.0)]
            if Y is not None:
                terms.append((Y, B, weighted_L, target_loss, lam))
            S = update_factor(S, terms, prior_S, sample_weight, eps)
        value = objective(
            X, Y, A, B, S, W, L, data_loss, target_loss, lam, priors, sample_weight, eps
        )
        history.append(value.total)
    return A, B, S, history


# ---------------------------------------------------------------- inference with A fixed


def nnls_rows(X, A, W=None):
    """argmin over S >= 0 of sum W (X - S A^T)^2, one scipy NNLS per row."""
    X, W = _observed(X, W)
    S = np.zeros((len(X), A.shape[1]))
    for i in range(len(X)):
        root = np.sqrt(W[i])
        S[i], _ = nnls(root[:, None] * A, root * X[i])
    return S


def kl_rows(X, A, n_iter=20000, W=None):
    """Near argmin over S >= 0 of sum W KL(X, S A^T): many multiplicative steps from a flat start.

    Stops early only when a step changes no bit. A row or topic that nothing observes gets 0.
    """
    X, W = _observed(X, W)
    S = np.ones((len(X), A.shape[1]))
    mass = W @ A
    for _ in range(n_iter):
        new = S * _divide(_divide(W * X, S @ A.T) @ A, mass)
        if np.array_equal(new, S):
            break
        S = new
    return S


# ---------------------------------------------------------------- few labels, and noise models


def em_naive_bayes(X, y, n_classes, X_test, n_iter=12, alpha=0.01, unlabelled_weight=0.1):
    """Naive Bayes with soft labels for the unlabelled rows (y = -1); predicted classes of X_test.

    Starts from the labelled rows alone (class prior: their counts + 1), then ``n_iter`` times:
    responsibilities of the unlabelled rows, class profiles and class prior from all rows, an
    unlabelled row counting ``unlabelled_weight``. X and X_test may be scipy sparse.
    """
    y = np.asarray(y)
    labelled = y >= 0
    omega = np.where(labelled, 1.0, unlabelled_weight)
    known = np.zeros((len(y), n_classes))
    known[labelled, y[labelled]] = 1.0

    def profiles(Q):
        counted = omega[:, None] * Q
        A = np.asarray(X.T @ counted) + alpha
        prior = counted.sum(axis=0) + 1.0
        return np.log(A / A.sum(axis=0)), np.log(prior / prior.sum())

    log_A, log_prior = profiles(known)
    for _ in range(n_iter):
        score = log_prior + np.asarray(X @ log_A)
        Q = np.exp(score - score.max(axis=1, keepdims=True))
        Q = Q / Q.sum(axis=1, keepdims=True)
        Q[labelled] = known[labelled]
        log_A, log_prior = profiles(Q)
    return np.argmax(log_prior + np.asarray(X_test @ log_A), axis=1)


def max_likelihood_lambda(data_noise, target_noise, rank, sigma1=None, sigma2=None):
    """lambda of the paper's four maximum-likelihood results; noise "gaussian" or "poisson".

    sigma1 and sigma2 are *variances of one of the r summands* of an entry (the entry itself then
    has variance r * sigma), as in the paper's section on maximum likelihood.
    """
    if (data_noise, target_noise) == ("gaussian", "gaussian"):
        return sigma1 / sigma2
    if (data_noise, target_noise) == ("gaussian", "poisson"):
        return 2 * rank * sigma1
    if (data_noise, target_noise) == ("poisson", "gaussian"):
        return 1 / (2 * rank * sigma2)
    if (data_noise, target_noise) == ("poisson", "poisson"):
        return 1.0
    raise ValueError(f"unknown noise models {data_noise!r}, {target_noise!r}")
