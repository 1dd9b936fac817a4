"""Which rules matched a column, in a log and in a data set: a rule that matches nothing may be misspelt."""

from __future__ import annotations

from typing import Any

from binx.dataset.dataset import DataSet
from binx.dataset.options import ParquetOptions
from binx.dataset.personal.rules import PersonalData
from binx.errors import UnmatchedRuleError


def unmatched_rules(dataset: DataSet, rules: PersonalData) -> list[str]:
    """Return the names in rules without wildcards that no committed log of a data set has, sorted.

    Raises:
        OutputError: a manifest cannot be read.
    """
    matched = {name for manifest in dataset.manifests() for name in manifest.get("rules_matched", ())}
    return sorted(rules.exact_names() - matched)


def check_rules(dataset: DataSet, options: ParquetOptions, manifest: dict[str, Any], path: str) -> None:
    """Check, before a log is committed, that no table with a rule came without the rule's column.

    Args:
        manifest: the log's manifest.
        path: the log.

    Raises:
        UnmatchedRuleError: one did, and the column is in no earlier log of the data set either.
        OutputError: a manifest cannot be read.
    """
    missing = set(manifest.get("rules_without_column", ()))
    if options.personal is None or options.allows_unmatched_rules or not missing:
        return
    unmatched = missing.intersection(unmatched_rules(dataset, options.personal))
    if unmatched:
        raise UnmatchedRuleError(
            f"there is no column for the rule {', '.join(sorted(unmatched))}: its table has rows in the log,"
            " and no such column; the log is not committed. Correct the rule, or give"
            " --allow-unmatched-rules",
            path=path,
        )
