"""Random matrices whose conditions are known."""

import numpy as np


def definite(rng, n):
    """A random symmetric matrix with eigenvalues from 1 to 10."""
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return Q @ np.diag(np.linspace(1.0, 10.0, n)) @ Q.T


def regular(rng, n):
    """A random matrix with zeros, whose largest numbers are not on the diagonal."""
    A = definite(rng, n)[rng.permutation(n)]
    A[rng.random((n, n)) < 0.2] = 0.0
    return A if np.linalg.cond(A) < 100.0 else regular(rng, n)
