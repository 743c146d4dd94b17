"""Layouts of tables, for the checks of both studies: a new layout is named here, in one file."""

# Computed by check.py, sums/check.py or both.
COMPUTED = {"table-1", "table-2", "table-5", "table-6", "comparisons", "gains", "intervals", "models", "plan"}
COMPUTED |= {"regressions", "reverted", "samples", "wins"}
# Facts of runs and ablations, which the studies' answers do not give.
OTHERS = {"ablation-layers", "ablation-transition", "alpha", "datasets", "equivalence", "patterns", "ranks", "surpass"}
OTHERS |= {"training", "windows"}


def elsewhere(table):
    """Returns for a table that the other check computes, or neither; exits for an unknown one."""
    if table.split("/")[0] not in COMPUTED | OTHERS:
        raise SystemExit(f"{table}: no such table is known here; name its layout in {__file__}")
