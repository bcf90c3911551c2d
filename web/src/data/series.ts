import { toNumber } from "./numbers";
import type { ExactScalars, PictureScalars } from "./types";

export interface NonFinite {
  step: number;
  kind: "nan" | "inf" | "-inf" | "mixed";
}

// One curve as it is drawn: `value` is null where the number was not finite, which is a gap in the
// line, and every such place is in `nonFinite`.
export interface Curve {
  step: number[];
  value: (number | null)[];
  nonFinite: NonFinite[];
}

export function emptyCurve(): Curve {
  return { step: [], value: [], nonFinite: [] };
}

// Puts exact points behind a curve. Steps at or before its end are replaced by the new ones, so
// that a repeated or overlapping answer changes nothing.
export function appendExact(curve: Curve, points: ExactScalars): Curve {
  if (points.step.length === 0) return curve;
  const first = points.step[0] as number;
  const keep = lowerBound(curve.step, first);
  const step = curve.step.slice(0, keep);
  const value = curve.value.slice(0, keep);
  const nonFinite = curve.nonFinite.filter((place) => place.step < first);
  points.step.forEach((at, index) => {
    const raw = points.value[index] ?? "nan";
    const number = toNumber(raw);
    step.push(at);
    value.push(Number.isFinite(number) ? number : null);
    if (typeof raw !== "number") nonFinite.push({ step: at, kind: raw });
  });
  return { step, value, nonFinite };
}

// A picture keeps each bucket's first, lowest, highest and last value: drawn in this order inside
// the bucket, no spike is lost.
export function curveOfPicture(picture: PictureScalars): Curve {
  const curve = emptyCurve();
  picture.from.forEach((from, index) => {
    const to = picture.to[index] as number;
    const corners = [picture.first, picture.min, picture.max, picture.last];
    const span = to - from;
    corners.forEach((values, corner) => {
      const raw = values[index];
      if (raw === null || raw === undefined) return;
      const number = toNumber(raw);
      if (!Number.isFinite(number)) return;
      const at = from + (span * corner) / 3;
      if (curve.step[curve.step.length - 1] === at) return;
      curve.step.push(at);
      curve.value.push(number);
    });
    if ((picture.nonfinite[index] ?? 0) > 0) {
      curve.nonFinite.push({ step: from, kind: "mixed" });
      curve.step.push(to + 0.5);
      curve.value.push(null);
    }
  });
  return curve;
}

// Index of the first element that is not below `wanted`; `steps` ascend.
export function lowerBound(steps: readonly number[], wanted: number): number {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle] as number) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

export type Aligned = [number[], ...(number | null | undefined)[][]];

// One x axis for curves with different steps: undefined where a curve has no point (the line goes
// on), null where it has a gap.
export function align(curves: readonly Curve[]): Aligned {
  const steps = [...new Set(curves.flatMap((curve) => curve.step))].sort((a, b) => a - b);
  const columns = curves.map((curve) => {
    const column: (number | null | undefined)[] = new Array(steps.length).fill(undefined);
    let position = 0;
    curve.step.forEach((step, index) => {
      while ((steps[position] as number) < step) position += 1;
      column[position] = curve.value[index] ?? null;
    });
    return column;
  });
  return [steps, ...columns];
}

// Lowest and highest finite value over all curves, or null when there is none. Gaps and
// non-finite values have no say in an axis.
export function finiteRange(
  curves: readonly Curve[],
  positiveOnly: boolean,
): [number, number] | null {
  let low = Infinity;
  let high = -Infinity;
  for (const curve of curves) {
    for (const value of curve.value) {
      if (value === null || (positiveOnly && value <= 0)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : null;
}
