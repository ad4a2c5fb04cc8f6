"""States of simulations."""
