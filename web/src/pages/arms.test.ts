import { describe, expect, it } from "vitest";
import type { Numeric, Profiles } from "../data/types";
import { meanOverSeeds } from "./arms";
import { evalCurve, profileCurve } from "./curves";

const profiles = (values: Numeric[][], first_index = 0): Profiles => ({
  key: "hidden_ma",
  first_index,
  step: values.map((_, index) => index),
  values,
});

describe("meanOverSeeds", () => {
  it("takes the newest profile of each seed", () => {
    const curve = meanOverSeeds([
      profiles([
        [9, 9],
        [1, 2],
      ]),
      profiles([[3, 4]]),
    ]);
    expect(curve).toEqual({ step: [0, 1], value: [2, 3], nonFinite: [] });
  });

  it("shows a gap where one seed is not finite, since a mean over the rest would hide it", () => {
    const curve = meanOverSeeds([profiles([[1, "inf"]], 1), profiles([[3, 4]], 1)]);
    expect(curve.step).toEqual([1, 2]);
    expect(curve.value).toEqual([2, null]);
    expect(curve.nonFinite).toEqual([{ step: 2, kind: "mixed" }]);
  });
});

describe("profileCurve", () => {
  it("starts at the profile's own first index", () => {
    expect(profileCurve(profiles([[0.5, "nan"]], 1), 0)).toEqual({
      step: [1, 2],
      value: [0.5, null],
      nonFinite: [{ step: 2, kind: "nan" }],
    });
  });
});

describe("evalCurve", () => {
  it("keeps non-finite validation losses as markers", () => {
    const at = (step: number, val_loss: Numeric) => ({
      step,
      val_loss,
      ppl_of_mean: 1,
      mean_seq_ppl: 1,
    });
    expect(evalCurve([at(0, 5.5), at(50, "inf")])).toEqual({
      step: [0, 50],
      value: [5.5, null],
      nonFinite: [{ step: 50, kind: "inf" }],
    });
  });
});
