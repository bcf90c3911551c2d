import type { ComponentChildren } from "preact";
import type { Outcome, RunState, SweepState, Value } from "../data/types";

export function StateBadge(props: { state: SweepState; outcome?: Outcome | null }) {
  const word = props.state === "done" && props.outcome ? props.outcome : props.state;
  return <span class={`badge state-${word}`}>{word}</span>;
}

const ORDER: RunState[] = ["done", "running", "waiting", "queued", "failed", "cancelled"];

// How the runs of a sweep stand, as one bar with its numbers beside it.
export function StateBar(props: { counts: Record<RunState, number>; diverged: number }) {
  const total = ORDER.reduce((sum, state) => sum + props.counts[state], 0);
  const parts = ORDER.filter((state) => props.counts[state] > 0);
  const text = parts.map((state) => `${props.counts[state]} ${state}`).join(", ");
  return (
    <div class="state-bar">
      <div class="bar" role="img" aria-label={text}>
        {parts.map((state) => (
          <i
            key={state}
            class={`fill-${state}`}
            style={{ flexGrow: props.counts[state] / total }}
          />
        ))}
      </div>
      <span class="soft">
        {text || "no runs"}
        {props.diverged > 0 && <span class="badge bad">{props.diverged} diverged</span>}
      </span>
    </div>
  );
}

export function Progress(props: { step: number; steps: number; state: RunState }) {
  const share = props.steps > 0 ? Math.min(1, props.step / props.steps) : 0;
  return (
    <span class="progress" title={`step ${props.step} of ${props.steps}`}>
      <i class={`fill-${props.state}`} style={{ width: `${100 * share}%` }} />
      <em>{props.step}</em>
    </span>
  );
}

export function formatValue(value: Value | undefined): string {
  if (value === undefined || value === null) return "–";
  // As somebody wrote it: 0.5, not 0.500000.
  if (typeof value === "number") return String(Number(value.toPrecision(6)));
  return String(value);
}

export function Message(props: { children: ComponentChildren; kind?: "error" | "plain" }) {
  return <p class={props.kind === "error" ? "message bad" : "message"}>{props.children}</p>;
}

export function Facts(props: { rows: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {props.rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
