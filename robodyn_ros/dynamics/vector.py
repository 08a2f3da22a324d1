"""3-vectors for the kernels: plain tuples, which the compiler keeps in registers.

A matrix is a tuple of nine numbers, row by row; a symmetric one of six: xx, xy, xz, yy, yz, zz.
"""

from .compile import U1, U2, U3, U6, inline

ZERO = (0.0, 0.0, 0.0)


@inline
def load3(block, at):
    return block[at], block[at + U1], block[at + U2]


@inline
def store3(block, at, v):
    block[at] = v[0]
    block[at + U1] = v[1]
    block[at + U2] = v[2]


@inline
def accumulate3(block, at, v):
    block[at] += v[0]
    block[at + U1] += v[1]
    block[at + U2] += v[2]


@inline
def load6(block, at):
    return load3(block, at) + load3(block, at + U3)


@inline
def store6(block, at, v):
    store3(block, at, v[:3])
    store3(block, at + U3, v[3:])


@inline
def accumulate6(block, at, v):
    accumulate3(block, at, v[:3])
    accumulate3(block, at + U3, v[3:])


@inline
def load9(block, at):
    return load6(block, at) + load3(block, at + U6)


@inline
def store9(block, at, v):
    store6(block, at, v[:6])
    store3(block, at + U6, v[6:])


@inline
def accumulate9(block, at, v):
    accumulate6(block, at, v[:6])
    accumulate3(block, at + U6, v[6:])


@inline
def add(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inline
def sub(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inline
def scale(s, a):
    return s * a[0], s * a[1], s * a[2]


@inline
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inline
def cross_z(a, s):
    """Return a x (s z)."""
    return s * a[1], -s * a[0], 0.0


@inline
def add_z(a, s):
    """Return a + s z."""
    return a[0], a[1], a[2] + s


@inline
def matvec(R, a):
    """Return R a."""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@inline
def matvec_t(R, a):
    """Return R^T a."""
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


@inline
def symvec(S, a):
    """Return S a for a symmetric S."""
    return (
        S[0] * a[0] + S[1] * a[1] + S[2] * a[2],
        S[1] * a[0] + S[3] * a[1] + S[4] * a[2],
        S[2] * a[0] + S[4] * a[1] + S[5] * a[2],
    )


@inline
def column_z(R):
    """Return R z."""
    return R[2], R[5], R[8]


@inline
def matmul(A, B):
    """Return A B."""
    return matvec_t(B, A[:3]) + matvec_t(B, A[3:6]) + matvec_t(B, A[6:])


@inline
def add6(A, B):
    return add(A[:3], B[:3]) + add(A[3:], B[3:])


@inline
def add9(A, B):
    return add6(A[:6], B[:6]) + add(A[6:], B[6:])


@inline
def congruence(R, S):
    """Return R S R^T for a symmetric S."""
    x, y, z = R[:3], R[3:6], R[6:]
    a, b, c = symvec(S, x), symvec(S, y), symvec(S, z)
    return dot(x, a), dot(x, b), dot(x, c), dot(y, b), dot(y, c), dot(z, c)


@inline
def turn_z(E, s, c):
    """Return E Rz(angle), from the angle's sine and cosine."""
    return (
        (c * E[0] + s * E[1], c * E[1] - s * E[0], E[2])
        + (c * E[3] + s * E[4], c * E[4] - s * E[3], E[5])
        + (c * E[6] + s * E[7], c * E[7] - s * E[6], E[8])
    )


@inline
def rate_matrix(wd, w, wa):
    """Return [wd x] + [w x][wa x], which maps a point's place to its acceleration."""
    d = dot(w, wa)
    return (
        (wa[0] * w[0] - d, wa[0] * w[1] - wd[2], wa[0] * w[2] + wd[1])
        + (wa[1] * w[0] + wd[2], wa[1] * w[1] - d, wa[1] * w[2] - wd[0])
        + (wa[2] * w[0] - wd[1], wa[2] * w[1] + wd[0], wa[2] * w[2] - d)
    )
