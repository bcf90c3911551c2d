import { describe, expect, it } from "vitest";
import { groupProfiles, profileName } from "./profile_names";

describe("profileName", () => {
  it("names the matrix type that a key ends with", () => {
    expect(profileName("param_update.ffn.down")).toEqual({
      title: "Update relative to the weights, ffn.down",
      depth: "block",
    });
    expect(profileName("hidden_ma")).toEqual({ title: "Mean |x| over depth", depth: "sublayer" });
  });

  it("leaves a key as it is that it does not know", () => {
    expect(profileName("of_tomorrow").title).toBe("of_tomorrow");
  });
});

describe("groupProfiles", () => {
  it("keeps each family together, in a fixed order, and drops none", () => {
    const keys = ["angle_max", "param_update.ffn.up", "of_tomorrow", "angle", "stream_grad"];
    expect(groupProfiles([...keys, "hidden_ma"])).toEqual([
      { title: "Hidden state", keys: ["hidden_ma"] },
      { title: "Branches and angles", keys: ["angle", "angle_max"] },
      { title: "Gradients and updates", keys: ["stream_grad", "param_update.ffn.up"] },
      { title: "Other profiles", keys: ["of_tomorrow"] },
    ]);
  });
});
