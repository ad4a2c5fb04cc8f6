"""The evaluations of the papers: each figure and table a function and a command."""
