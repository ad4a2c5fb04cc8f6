"""Runs: scenarios simulated and recorded, one (`run`) or many, each made once (`run_many`)."""
