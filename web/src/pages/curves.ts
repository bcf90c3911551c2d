import { toNumber } from "../data/numbers";
import { emptyCurve, type Curve } from "../data/series";
import type { Evaluation, Profiles } from "../data/types";

// The validation loss over training steps.
export function evalCurve(evals: readonly Evaluation[]): Curve {
  const curve = emptyCurve();
  for (const entry of evals) {
    const value = toNumber(entry.val_loss);
    curve.step.push(entry.step);
    curve.value.push(Number.isFinite(value) ? value : null);
    if (typeof entry.val_loss !== "number")
      curve.nonFinite.push({ step: entry.step, kind: entry.val_loss });
  }
  return curve;
}

// The profile at place `at` of its steps, over depth.
export function profileCurve(profiles: Profiles, at: number): Curve {
  const curve = emptyCurve();
  (profiles.values[at] ?? []).forEach((raw, offset) => {
    const value = toNumber(raw);
    const index = offset + profiles.first_index;
    curve.step.push(index);
    curve.value.push(Number.isFinite(value) ? value : null);
    if (typeof raw !== "number") curve.nonFinite.push({ step: index, kind: raw });
  });
  return curve;
}
