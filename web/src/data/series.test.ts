import { describe, expect, it } from "vitest";
import { align, appendExact, curveOfPicture, emptyCurve, finiteRange, lowerBound } from "./series";
import type { ExactScalars } from "./types";

const exact = (step: number[], value: ExactScalars["value"]): ExactScalars => ({
  exact: true,
  step,
  value,
  attempt: step.map(() => 1),
});

describe("appendExact", () => {
  it("keeps a gap and a marker where a value is not finite", () => {
    const curve = appendExact(emptyCurve(), exact([1, 2, 3, 4], [5, "nan", "-inf", 4]));
    expect(curve.value).toEqual([5, null, null, 4]);
    expect(curve.nonFinite).toEqual([
      { step: 2, kind: "nan" },
      { step: 3, kind: "-inf" },
    ]);
  });

  it("replaces steps that come again and drops what lay behind them", () => {
    const first = appendExact(emptyCurve(), exact([1, 2, 3], [9, "inf", 7]));
    const second = appendExact(first, exact([2, 3, 4], [8, 7.5, 6]));
    expect(second.step).toEqual([1, 2, 3, 4]);
    expect(second.value).toEqual([9, 8, 7.5, 6]);
    expect(second.nonFinite).toEqual([]);
  });

  it("is unchanged by the same answer twice", () => {
    const once = appendExact(emptyCurve(), exact([1, 2], [3, 2]));
    expect(appendExact(once, exact([1, 2], [3, 2]))).toEqual(once);
    expect(appendExact(once, exact([], []))).toBe(once);
  });
});

describe("curveOfPicture", () => {
  it("draws each bucket's extremes between its ends", () => {
    const curve = curveOfPicture({
      exact: false,
      from: [1, 11],
      to: [10, 20],
      first: [3, 2],
      min: [1, 0.5],
      max: [99, 2.5],
      last: [2, 1],
      n: [10, 10],
      nonfinite: [0, 0],
    });
    expect(curve.value).toEqual([3, 1, 99, 2, 2, 0.5, 2.5, 1]);
    expect(curve.step[0]).toBe(1);
    expect(curve.step[3]).toBe(10);
  });

  it("breaks the line behind a bucket with non-finite values, alone in it or not", () => {
    const curve = curveOfPicture({
      exact: false,
      from: [1, 2],
      to: [1, 2],
      first: [3, null],
      min: [3, null],
      max: [3, null],
      last: [3, null],
      n: [1, 1],
      nonfinite: [0, 1],
    });
    expect(curve.value).toEqual([3, null]);
    expect(curve.nonFinite).toEqual([{ step: 2, kind: "mixed" }]);
  });
});

describe("align", () => {
  it("tells a missing point (undefined) from a gap (null)", () => {
    const a = { step: [1, 3], value: [10, null], nonFinite: [] };
    const b = { step: [2, 3], value: [20, 30], nonFinite: [] };
    expect(align([a, b])).toEqual([
      [1, 2, 3],
      [10, undefined, null],
      [undefined, 20, 30],
    ]);
  });
});

describe("finiteRange", () => {
  it("ignores gaps, and numbers that a log axis cannot show", () => {
    const curve = { step: [1, 2, 3], value: [-1, null, 5], nonFinite: [] };
    expect(finiteRange([curve], false)).toEqual([-1, 5]);
    expect(finiteRange([curve], true)).toEqual([5, 5]);
    expect(finiteRange([emptyCurve()], false)).toBeNull();
  });
});

describe("lowerBound", () => {
  it("finds the first element not below the wanted one", () => {
    expect([0, 1, 2, 5, 9].map((wanted) => lowerBound([1, 2, 5], wanted))).toEqual([0, 0, 1, 2, 3]);
  });
});
