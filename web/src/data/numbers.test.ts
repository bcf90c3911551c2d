import { describe, expect, it } from "vitest";
import { formatBytes, formatDuration, formatNumber, formatSigned, toNumber } from "./numbers";

describe("toNumber", () => {
  it("reads the markers of strict JSON", () => {
    expect(toNumber("nan")).toBeNaN();
    expect(toNumber("inf")).toBe(Infinity);
    expect(toNumber("-inf")).toBe(-Infinity);
    expect(toNumber(0.25)).toBe(0.25);
  });
});

describe("formatNumber", () => {
  it.each([
    [null, "–"],
    ["nan", "NaN"],
    ["-inf", "−∞"],
    [300, "300"],
    [2.39457, "2.395"],
    [10500.3, "10500"],
    [-98765.4, "-98765"],
    [0.00001234, "1.234e-5"],
    [0, "0"],
    [12345678, "1.235e+7"],
  ] as const)("shows %s as %s", (value, text) => expect(formatNumber(value)).toBe(text));
});

describe("formatSigned", () => {
  it("always carries a sign", () => {
    expect(formatSigned(0.0214)).toBe("+0.021");
    expect(formatSigned(-0.0214)).toBe("−0.021");
    expect(formatSigned(null)).toBe("–");
  });
});

describe("units", () => {
  it("keeps durations and sizes short", () => {
    expect(formatDuration(59.4)).toBe("59 s");
    expect(formatDuration(125)).toBe("2 min 5 s");
    expect(formatDuration(7260)).toBe("2 h 1 min");
    expect(formatBytes(536870912)).toBe("512 MiB");
    expect(formatBytes(null)).toBe("–");
  });
});
