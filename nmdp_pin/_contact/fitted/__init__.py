"""Contact models fitted to data: hulls, networks and functions of the pose."""
