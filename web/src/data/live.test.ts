import { describe, expect, it } from "vitest";
import { Live, type Change, type Stream } from "./live";

class FakeStream implements Stream {
  onopen: ((event: Event) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  private listener: ((event: MessageEvent) => void) | null = null;

  addEventListener(_type: string, listener: (event: MessageEvent) => void) {
    this.listener = listener;
  }
  close() {}
  open() {
    this.onopen?.(new Event("open"));
  }
  fail() {
    this.onerror?.(new Event("error"));
  }
  send(data: unknown) {
    this.listener?.(new MessageEvent("change", { data: JSON.stringify(data) }));
  }
}

function heard(live: Live): Change[] {
  const changes: Change[] = [];
  live.onChange((change) => changes.push(change));
  return changes;
}

describe("Live", () => {
  it("hands on which sweeps and runs changed", () => {
    const stream = new FakeStream();
    const changes = heard(new Live(stream));
    stream.open();
    stream.send({ sweeps: ["s1"], runs: ["r1", "r2"] });
    expect(changes).toHaveLength(1);
    expect([...(changes[0]?.runs ?? [])]).toEqual(["r1", "r2"]);
    expect(changes[0]?.everything).toBe(false);
  });

  it("takes everything for changed after a lost connection, and says that it was lost", () => {
    const stream = new FakeStream();
    const live = new Live(stream);
    const changes = heard(live);
    stream.open();
    stream.fail();
    expect(live.state).toBe("lost");
    stream.open();
    expect(live.state).toBe("live");
    expect(changes.map((change) => change.everything)).toEqual([true]);
  });

  it("is silent to a listener that left", () => {
    const stream = new FakeStream();
    const live = new Live(stream);
    const changes: Change[] = [];
    live.onChange((change) => changes.push(change))();
    stream.send({ sweeps: [], runs: ["r1"] });
    expect(changes).toEqual([]);
  });
});
