"""Evidence of a residual for a push on each link, compiled.

A push at point p of a link loads the joints by J(p)^T f. Its force f has a Gaussian prior about
the surface's inward normal n, wide along it and narrow across it: a cone. Only forces into the
surface count. With y = J(p)^T f + e, e ~ N(0, S), size and direction integrate in closed form:

    log p(y | p) = 1/2 h^T x - 1/2 log det(C M) + log Phi(n^T x / sqrt(n^T M^-1 n)) + const
    M = J S^-1 J^T + C^-1,   h = J S^-1 y,   x = M^-1 h,   C = prior covariance of f

The evidence of a link is the mean over its points and over several cones.
"""

import math

import numpy as np

from ..dynamics.compile import U1, U2, U3, index, inline, kernel
from ..dynamics.joints import R_, o_, place_base, place_bodies, row_of, sizes, unit_motion
from ..dynamics.vector import add, cross, dot, load3, load9, matvec, matvec_t, scale
from ..model import packed_model as at
from ..model.packed_model import U

# Columns of a cone: deviation of the force along and across the normal [N]; log of its weight;
# 1 if the force points into the surface, 0 if anywhere
ALONG, ACROSS, LOG_WEIGHT, INWARD, CONE = (U(k) for k in range(5))
# Columns of the result: log evidence; mean (3) and mean square of the force [N], base axes;
# likeliest point (3) [m], base frame; log likelihood of the push that fits best
EVIDENCE, FORCE, SQUARE, POINT, FIT, FOUND = U(0), U(1), U(4), U(5), U(8), U(9)

NEGLIGIBLE = -30.0  # log of a weight, relative to the largest
HALF_LOG_2PI, LOG_2 = 0.9189385332046727, 0.6931471805599453
U0, U4, U5 = U(0), U(4), U(5)


@inline
def _weigh_origin(block, i, precision, y, J, SJ, A, h6):
    """Set A = J S^-1 J^T and h6 = J S^-1 y of a body's origin, force first, in its own axes."""
    b, _, _ = row_of(block, i)
    R, o = load9(block, b + R_), load3(block, b + o_)
    J[:] = 0.0
    while b != at.HEADER:
        v, w = unit_motion(block, b, o)
        v, w = matvec_t(R, v), matvec_t(R, w)
        k = index(block[b + at.COORDINATE])
        for j in range(U3):
            J[k, j] += v[j]
            J[k, j + U3] += w[j]
        b = index(block[b + at.PARENT])
    n = U(y.size)
    for j in range(U(6)):
        h6[j] = 0.0
        for k in range(n):
            total = 0.0
            for m in range(n):
                total += precision[k, m] * J[m, j]
            SJ[k, j] = total
            h6[j] += total * y[k]
    for j in range(U(6)):
        for m in range(U(6)):
            total = 0.0
            for k in range(n):
                total += J[k, j] * SJ[k, m]
            A[j, m] = total


@inline
def _weigh_surface(block, i, points, normals, start, A, h6, cones, found):
    """Set the row of one body: sums over its points and the cones, weights relative to the best.

    Sums are scaled anew whenever a better point is met.
    """
    best, total, square, place = -np.inf, 0.0, 0.0, (0.0, 0.0, 0.0)
    force, fitting = (0.0, 0.0, 0.0), -np.inf
    first, last = U(start[i]), U(start[i + U1])
    for k in range(first, last):
        p = (points[k, U0], points[k, U1], points[k, U2])
        n = (normals[k, U0], normals[k, U1], normals[k, U2])
        G, h = _at_point(A, h6, p)
        for c in range(U(cones.shape[0])):
            value, x, spread, fit = _weigh_cone(G, h, n, cones, c, best + NEGLIGIBLE)
            fitting = max(fitting, fit)
            if value > best:
                fade = math.exp(best - value)
                total, square, force = total * fade, square * fade, scale(fade, force)
                best, place = value, p
            weight = value - best
            if weight > NEGLIGIBLE:
                weight = math.exp(weight)
                total += weight
                square += weight * (dot(x, x) + spread)
                force = add(force, scale(weight, x))
    b, _, _ = row_of(block, i)
    R = load9(block, b + R_)
    if last > first:
        found[i, EVIDENCE] = best + math.log(total / float(last - first))
        force = matvec(R, scale(1.0 / total, force))
        place = add(load3(block, b + o_), matvec(R, place))
        for j in range(U3):
            found[i, FORCE + j] = force[j]
            found[i, POINT + j] = place[j]
        found[i, SQUARE] = square / total
        found[i, FIT] = fitting
    else:
        found[i, :] = 0.0
        found[i, EVIDENCE] = -np.inf


@inline
def _at_point(A, h6, p):
    """Return J S^-1 J^T (6 numbers: xx, xy, xz, yy, yz, zz) and J S^-1 y (3) of a point.

    A force f at p acts on the origin as (f, p x f).
    """
    # Rows of A's moment columns times [p]x: m^T (p x f) = (m x p)^T f
    b0 = cross((A[U0, U3], A[U0, U4], A[U0, U5]), p)
    b1 = cross((A[U1, U3], A[U1, U4], A[U1, U5]), p)
    b2 = cross((A[U2, U3], A[U2, U4], A[U2, U5]), p)
    d0 = cross((A[U3, U3], A[U3, U4], A[U3, U5]), p)
    d1 = cross((A[U4, U3], A[U4, U4], A[U4, U5]), p)
    d2 = cross((A[U5, U3], A[U5, U4], A[U5, U5]), p)
    c0 = cross((d0[0], d1[0], d2[0]), p)
    c1 = cross((d0[1], d1[1], d2[1]), p)
    c2 = cross((d0[2], d1[2], d2[2]), p)
    G = (
        A[U0, U0] + 2.0 * b0[0] + c0[0],
        A[U0, U1] + b0[1] + b1[0] + c1[0],
        A[U0, U2] + b0[2] + b2[0] + c2[0],
        A[U1, U1] + 2.0 * b1[1] + c1[1],
        A[U1, U2] + b1[2] + b2[1] + c2[1],
        A[U2, U2] + 2.0 * b2[2] + c2[2],
    )
    h = add((h6[U0], h6[U1], h6[U2]), cross((h6[U3], h6[U4], h6[U5]), p))
    return G, h


@inline
def _weigh_cone(G, h, n, cones, c, least):
    """Return log evidence, mean force (3), its variance (summed over the axes), and the fit.

    The fit is the log likelihood without the price of a direction that must be met exactly.
    Evidence below `least` may be returned as minus infinity.
    """
    along, across = cones[c, ALONG], cones[c, ACROSS]
    flat = 1.0 / (across * across)
    steep = 1.0 / (along * along) - flat
    M0 = G[0] + flat + steep * n[0] * n[0]
    M1 = G[1] + steep * n[0] * n[1]
    M2 = G[2] + steep * n[0] * n[2]
    # M = L D L^T: stable although G is often singular
    d0 = M0
    l1, l2 = M1 / d0, M2 / d0
    d1 = G[3] + flat + steep * n[1] * n[1] - l1 * M1
    e = G[4] + steep * n[1] * n[2] - l2 * M1
    l3 = e / d1
    d2 = G[5] + flat + steep * n[2] * n[2] - l2 * M2 - l3 * e
    D = (d0, d1, d2, l1, l2, l3)
    x = _solved(D, h)
    value = 0.5 * dot(h, x) + cones[c, LOG_WEIGHT]
    if value + LOG_2 < least:  # the terms that are left are at most log 2
        return -np.inf, x, 0.0, -np.inf
    fit = 0.5 * dot(h, x)
    value -= 0.5 * math.log(d0 * d1 * d2 * (along * across * across) ** 2)
    # Trace of M^-1
    i2 = 1.0 / d2
    i1 = 1.0 / d1 + l3 * l3 * i2
    m = l1 * l3 - l2
    spread = 1.0 / d0 + l1 * l1 / d1 + m * m * i2 + i1 + i2
    if cones[c, INWARD] != 0.0:
        u = _solved(D, n)
        deviation = math.sqrt(dot(n, u))
        z = dot(n, x) / deviation
        inside = _log_normal_cdf(z)
        fit += inside
        value += inside + LOG_2  # twice as likely a priori as in the whole space
        if z < 6.0:  # the mean moves into the surface, about which the force scatters less
            shift = math.exp(-0.5 * z * z - HALF_LOG_2PI - inside)
            x = add(x, scale(shift / deviation, u))
            spread -= min(shift * (shift + z), 1.0) * dot(u, u) / deviation**2
    return value, x, spread, fit


@inline
def _solved(D, h):
    """Return (L D L^T)^-1 h."""
    a = h[0]
    b = h[1] - D[3] * a
    c = h[2] - D[4] * a - D[5] * b
    z = c / D[2]
    y = b / D[1] - D[5] * z
    return a / D[0] - D[3] * y - D[4] * z, y, z


@inline
def _log_normal_cdf(z):
    """Return the log of the normal distribution function, also far below 0."""
    if z > -5.0:
        return math.log(0.5 * math.erfc(-z * math.sqrt(0.5)))
    return -0.5 * z * z - HALF_LOG_2PI - math.log(-z) + math.log1p(-1.0 / (z * z + 2.0))


@kernel("int64(vector, vector, matrix, matrix, int64[::1], matrix, vector, matrix, int64, matrix)")
def weigh_link(block, q, points, normals, start, precision, y, cones, row, found):
    """Fill one row of `found`, which has one per body. precision: S^-1 (n, n).

    Points and normals are in the frames of the packed model.
    """
    bodies, n, T = sizes(block, q)
    i = U(row)
    if T != U1 or i >= bodies or U(start.size) != bodies + U1 or U(found.shape[0]) != bodies:
        return 1
    if U(y.size) != n or U(precision.shape[0]) != n or U(precision.shape[1]) != n:
        return 1
    place_base(block)
    if place_bodies(block, q, U0) != 0.0:
        return 1
    J, SJ, A, h6 = np.zeros((n, U(6))), np.zeros((n, U(6))), np.zeros((6, 6)), np.zeros(6)
    _weigh_origin(block, i, precision, y, J, SJ, A, h6)
    _weigh_surface(block, i, points, normals, start, A, h6, cones, found)
    return 0
