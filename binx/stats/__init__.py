"""Figures and listings: what is in logs, for people and for programs."""
