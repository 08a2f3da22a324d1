"""What must never be, however busy the machine is: a test that sees it is not run again."""


class Unsafe(AssertionError):  # noqa: N818
    """Something was seen that being late does not explain."""


def safe(condition, *told):
    """Fail for good unless this is true."""
    if not condition:
        raise Unsafe(" ".join(str(item) for item in told))
