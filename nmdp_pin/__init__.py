"""A robotics simulator on Pinocchio whose time steps are optimisation problems."""
