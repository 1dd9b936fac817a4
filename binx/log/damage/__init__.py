"""Damaged logs: what is lost at a damage, and where reading goes on."""
