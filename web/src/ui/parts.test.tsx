import { describe, expect, it } from "vitest";
import { formatValue } from "./parts";

describe("formatValue", () => {
  it.each([
    [0.5, "0.5"],
    [1, "1"],
    [0.1 + 0.2, "0.3"],
    [1e-8, "1e-8"],
    ["geo", "geo"],
    [true, "true"],
    [null, "–"],
  ] as const)("shows the level %s as %s", (value, text) => expect(formatValue(value)).toBe(text));
});
