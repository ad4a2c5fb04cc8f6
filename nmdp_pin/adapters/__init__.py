"""Adapters to the interfaces of planners and learners; each module needs its extra."""
