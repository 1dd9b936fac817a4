"""Verification that binary logs are intact and complete."""

from __future__ import annotations

from binx.verify.problems import FileReport, LogProblemKind, Problem, VerifyReport
from binx.verify.verification import verify

__all__ = ["FileReport", "LogProblemKind", "Problem", "VerifyReport", "verify"]
