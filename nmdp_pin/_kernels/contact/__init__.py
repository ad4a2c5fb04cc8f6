"""Motions at contacts and the forces that they allow."""
