"""What the skipped tests would have tested, and what this machine lacks for it."""

# Words in the reason of a skip, what is not tested, and what adds it: a Debian package, or text.
FEATURES = (
    ("chromium", "pages in a browser", "chromium"),
    ("'ip'", "nodes on three hosts", "iproute2"),
    ("namespaces", "nodes on three hosts", "root's rights"),
    ("check_urdf", "URDFs by a second parser", "liburdfdom-tools"),
    ("launch files", "launch files", "a ROS 2 installation, sourced"),
    ("xacro", "launch files", "a ROS 2 installation, sourced"),
    ("sros2", "encrypted topics", "a ROS 2 installation, sourced"),
    ("without security", "encrypted topics", "a ROS 2 installation, sourced"),
    (
        "no recordings",
        "recordings of real arms",
        "the recordings, which are not in this repository",
    ),
    (
        "its description",
        "recordings of real arms",
        "the recordings, which are not in this repository",
    ),
    ("mkdocs", "pages of the site of documents", "`make docs`"),
    ("no time to record", "recording at 1 kHz", "an idle machine"),
)
PACKAGES = ("chromium", "iproute2", "liburdfdom-tools")


def untested(reasons):
    """Return a paragraph on skipped tests, given their reasons; "" if there are none."""
    counts, remedies = {}, {}
    for reason in reasons:
        reason = reason.removeprefix("Skipped: ")
        known = (row for row in FEATURES if row[0] in reason)
        _, feature, remedy = next(known, ("", reason, ""))
        counts[feature] = counts.get(feature, 0) + 1
        if remedy:
            remedies.setdefault(remedy, {})[feature] = True
    if not counts:
        return ""
    text = "Not tested on this machine: "
    text += ", ".join(f"{feature} ({count} skipped)" for feature, count in counts.items()) + "."
    packages = " ".join(name for name in PACKAGES if name in remedies)
    if packages:
        text += f" To add what can be installed: sudo apt install {packages}."
    for remedy, features in remedies.items():
        if remedy not in PACKAGES:
            needing = " and ".join(features)
            text += f" {needing[0].upper()}{needing[1:]} need {remedy}."
    return text
