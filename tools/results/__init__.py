"""All figures and tables of the documentation, made anew by one command."""
