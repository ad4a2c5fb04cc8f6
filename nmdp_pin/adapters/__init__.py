"""The simulator behind the interfaces of planners and learners; each module needs its extra."""
