import type { ChartCurve } from "../chart/chart";
import { strokeOf } from "../chart/palette";
import { toNumber } from "../data/numbers";
import { emptyCurve, type Curve } from "../data/series";
import type { Profiles, Run } from "../data/types";

export interface ArmIndex {
  label: string;
  index: number; // its place in the palette: the same on every chart
}

// The arms in the order of their cells.
export function armsOf(runs: readonly Run[]): ArmIndex[] {
  const labels = [...new Set([...runs].sort(byCell).map((run) => run.label))];
  return labels.map((label, index) => ({ label, index }));
}

function byCell(a: Run, b: Run): number {
  return a.cell.localeCompare(b.cell, undefined, { numeric: true }) || a.seed - b.seed;
}

// One curve per run, in its arm's colour.
export function curvesByArm(
  runs: readonly Run[],
  arms: readonly ArmIndex[],
  curves: ReadonlyMap<string, Curve>,
  dark: boolean,
): ChartCurve[] {
  return [...runs].sort(byCell).map((run) => ({
    name: run.label,
    curve: curves.get(run.id) ?? emptyCurve(),
    stroke: strokeOf(arms.find((arm) => arm.label === run.label)?.index ?? 0, dark),
  }));
}

// One curve per arm: the mean over its seeds at each depth. A depth where any seed is not finite
// is a gap with a marker: a mean over the others would hide it.
export function depthCurves(
  runs: readonly Run[],
  arms: readonly ArmIndex[],
  profiles: ReadonlyMap<string, Profiles>,
  dark: boolean,
): ChartCurve[] {
  return arms
    .map((arm) => {
      const found = runs
        .filter((run) => run.label === arm.label)
        .flatMap((run) => profiles.get(run.id) ?? []);
      return {
        name: arm.label,
        curve: meanOverSeeds(found),
        stroke: strokeOf(arm.index, dark),
        points: true,
      };
    })
    .filter((entry) => entry.curve.step.length > 0);
}

export function meanOverSeeds(profiles: readonly Profiles[]): Curve {
  const curve = emptyCurve();
  const rows = profiles.flatMap((profile) => profile.values.slice(-1));
  const depth = Math.max(0, ...rows.map((row) => row.length));
  for (let index = 0; index < depth; index += 1) {
    const at = index + (profiles[0]?.first_index ?? 0);
    const values = rows.flatMap((row) => row.slice(index, index + 1)).map(toNumber);
    curve.step.push(at);
    if (values.every(Number.isFinite)) {
      curve.value.push(values.reduce((sum, value) => sum + value, 0) / values.length);
    } else {
      curve.value.push(null);
      curve.nonFinite.push({ step: at, kind: "mixed" });
    }
  }
  return curve;
}
