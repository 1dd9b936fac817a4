"""Verification that binary logs are intact and complete."""

from __future__ import annotations

from binx.verify.report import FileReport, LogProblemKind, Problem, VerifyReport
from binx.verify.run import verify

__all__ = ["FileReport", "LogProblemKind", "Problem", "VerifyReport", "verify"]
