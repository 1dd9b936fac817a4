"""Figures as one HTML page that needs nothing else: no scripts, no other files, no network."""

from binx.stats.page.document import html_page

__all__ = ["html_page"]
