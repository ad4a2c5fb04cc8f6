"""File formats: input is checked before it is believed, output is written whole or not at all."""
