"""The table of gpu_bench.py's rows, which says where they reach their targets."""

LEAST_VS_COPY = {"fwd": 0.85, "bwd": 0.80}
MOST_DRAM_VS_LEAST = 1.03


def verdict(passes, measure, value):
    """None where nothing is asked of that measure, else the mark beside it."""
    if measure == "vs_copy" and passes in LEAST_VS_COPY:
        least = LEAST_VS_COPY[passes]
        return "✓" if value >= least else f"below {least:.2f}"
    if measure == "dram_vs_least":
        return "✓" if value <= MOST_DRAM_VS_LEAST else f"above {MOST_DRAM_VS_LEAST:.2f}"
    return None


def table(rows):
    if not rows:
        return "Nothing was measured."
    cells, verdicts = {}, []
    for entry in rows:
        what, measure = entry["name"].rsplit("/", 1)
        mark = verdict(what.rsplit("/", 1)[-1], measure, entry["value"])
        verdicts += [mark] if mark else []
        cells.setdefault(what, {})[measure] = " ".join(
            [f'{entry["value"]:.2f} ± {entry["spread"]:.2f}', *([mark] if mark else [])])
    measures = sorted({m for found in cells.values() for m in found})
    lines = [f"| | {' | '.join(measures)} |", "|---" * (len(measures) + 1) + "|"]
    for what, found in cells.items():
        lines.append(f"| {what} | {' | '.join(found.get(m, '') for m in measures)} |")
    lines += ["", f"{verdicts.count('✓')} of {len(verdicts)} targets reached: bandwidth at least "
              f"{LEAST_VS_COPY['fwd']:.0%} of a copy's forward and {LEAST_VS_COPY['bwd']:.0%} "
              "backward, the memory's traffic at most "
              f"{MOST_DRAM_VS_LEAST - 1:.0%} over the least."]
    return "\n".join(lines)
