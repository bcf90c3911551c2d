import { useMemo, useState } from "preact/hooks";
import type { ChartCurve } from "../chart/chart";
import { Figure } from "../chart/figure";
import { strokeOf } from "../chart/palette";
import { useCurves, useDocument } from "../data/hooks";
import { formatBytes, formatDuration, formatNumber, formatTime } from "../data/numbers";
import { emptyCurve, type Curve } from "../data/series";
import type { Attempt, Evaluation, RunDetail, RunEvent } from "../data/types";
import { Facts, formatValue, Message, Progress, StateBadge } from "../ui/parts";
import { Table } from "../ui/table";
import { useDark } from "../ui/theme";
import { evalCurve } from "./curves";
import { ProfileCharts } from "./profile_charts";

export function RunPage({ id }: { id: string }) {
  const { value, error } = useDocument<{ run: RunDetail }>(`runs/${id}`, (change) =>
    change.runs.has(id),
  );
  if (value === null)
    return error ? <Message kind="error">{error}</Message> : <Message>Loading…</Message>;
  const run = value.run;
  return (
    <main>
      <p class="crumbs">
        <a href="#/">Sweeps</a>
        {run.sweeps.map((sweep) => (
          <a key={sweep} href={`#/sweeps/${sweep}`}>
            {sweep}
          </a>
        ))}
      </p>
      <h1>
        <span class="id">{run.id}</span> {run.label}, seed {run.seed}{" "}
        <StateBadge state={run.state} outcome={run.outcome} />
      </h1>
      {error && <Message kind="error">{error}</Message>}
      <p class="soft">{run.explain}</p>
      <RunFacts run={run} />
      <ScalarCharts run={run} />
      <ProfileCharts run={run} />
      <Events run={run} />
      <Attempts attempts={run.attempts} />
      <Config config={run.config} />
      <Logs run={run} />
    </main>
  );
}

function RunFacts({ run }: { run: RunDetail }) {
  return (
    <Facts
      rows={[
        ["progress", <Progress step={run.step} steps={run.steps} state={run.state} />],
        ["validation loss", formatNumber(run.val_loss, 5)],
        ["best", formatNumber(run.best_val_loss, 5)],
        ["perplexity of mean", formatNumber(run.ppl_of_mean, 5)],
        ["mean sequence perplexity", formatNumber(run.mean_seq_ppl, 5)],
        ["spikes", formatNumber(run.spikes)],
        ["first non-finite step", formatNumber(run.first_nonfinite_step)],
        ["growth of hidden_ma", formatNumber(run.growth, 3)],
        ["tokens/s", formatNumber(run.tokens_per_s, 4)],
        ["device time", formatDuration(run.device_seconds)],
        ["started", formatTime(run.started_at)],
        ["identity", <code>{run.identity}</code>],
      ]}
    />
  );
}

function ScalarCharts({ run }: { run: RunDetail }) {
  const runs = useMemo(() => [run], [run]);
  const loss = useCurves(runs, "train_loss");
  const grad = useCurves(runs, "grad_norm");
  const lr = useCurves(runs, "lr");
  const speed = useCurves(runs, "tokens_per_s");
  const evals = useDocument<{ evals: Evaluation[] }>(`runs/${run.id}/evals`, (change) =>
    change.runs.has(run.id),
  );
  const dark = useDark();
  const one = (name: string, curves: ReadonlyMap<string, Curve>, color: number): ChartCurve[] => [
    { name, curve: curves.get(run.id) ?? emptyCurve(), stroke: strokeOf(color, dark) },
  ];
  const lossCurves = useMemo(
    () => [
      ...one("train loss", loss, 0),
      {
        name: "validation loss",
        curve: evalCurve(evals.value?.evals ?? []),
        stroke: strokeOf(1, dark),
        points: true,
      },
    ],
    [loss, evals.value, dark],
  );
  const gradCurves = useMemo(() => one("gradient norm", grad, 0), [grad, dark]);
  const lrCurves = useMemo(() => one("learning rate", lr, 0), [lr, dark]);
  const speedCurves = useMemo(() => one("tokens/s", speed, 0), [speed, dark]);
  return (
    <div class="figures">
      <Figure title="Loss" note="nats per token" xLabel="step" curves={lossCurves} />
      <Figure title="Gradient norm" note="before clipping" xLabel="step" curves={gradCurves} logY />
      <Figure title="Learning rate" xLabel="step" curves={lrCurves} height={180} />
      <Figure title="Tokens per second" xLabel="step" curves={speedCurves} height={180} />
    </div>
  );
}

function Events({ run }: { run: RunDetail }) {
  const { value } = useDocument<{ events: RunEvent[] }>(`runs/${run.id}/events`, (change) =>
    change.runs.has(run.id),
  );
  if (!value || value.events.length === 0) return null;
  return (
    <section>
      <h2>Events</h2>
      <Table
        label="Events"
        rows={value.events}
        rowKey={(event) => `${event.attempt}/${event.step}/${event.kind}`}
        columns={[
          { key: "step", title: "step", numeric: true, value: (event) => event.step },
          { key: "kind", title: "kind", value: (event) => event.kind },
          {
            key: "detail",
            title: "detail",
            value: (event) => JSON.stringify(event.detail),
            show: (event) =>
              Object.entries(event.detail)
                .map(
                  ([key, held]) =>
                    `${key} ${typeof held === "object" ? JSON.stringify(held) : formatValue(held)}`,
                )
                .join(", "),
          },
        ]}
      />
    </section>
  );
}

function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  return (
    <section>
      <h2>Attempts</h2>
      <Table
        label="Attempts"
        rows={attempts}
        rowKey={(attempt) => String(attempt.number)}
        columns={[
          { key: "number", title: "attempt", numeric: true, value: (attempt) => attempt.number },
          { key: "state", title: "state", value: (attempt) => attempt.state },
          { key: "worker", title: "worker", value: (attempt) => attempt.worker },
          {
            key: "start_step",
            title: "from step",
            numeric: true,
            value: (attempt) => attempt.start_step,
          },
          {
            key: "last_step",
            title: "to step",
            numeric: true,
            value: (attempt) => attempt.last_step,
          },
          { key: "reason", title: "reason", value: (attempt) => attempt.reason },
          { key: "exit_code", title: "exit", numeric: true, value: (attempt) => attempt.exit_code },
          {
            key: "memory",
            title: "peak memory",
            numeric: true,
            value: (attempt) => attempt.max_rss_bytes,
            show: (attempt) => formatBytes(attempt.max_rss_bytes),
          },
          {
            key: "started_at",
            title: "started",
            value: (attempt) => attempt.started_at,
            show: (attempt) => formatTime(attempt.started_at),
          },
        ]}
      />
    </section>
  );
}

function Config({ config }: { config: RunDetail["config"] }) {
  return (
    <details>
      <summary>Config</summary>
      <Facts rows={Object.entries(config).map(([key, value]) => [key, formatValue(value)])} />
    </details>
  );
}

function Logs({ run }: { run: RunDetail }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen((event.target as HTMLDetailsElement).open)}>
      <summary>Log</summary>
      {open && <LogLines id={run.id} />}
    </details>
  );
}

function LogLines({ id }: { id: string }) {
  const { value, error } = useDocument<{ lines: { seq: number; attempt: number; text: string }[] }>(
    `runs/${id}/logs`,
    (change) => change.runs.has(id),
  );
  if (error) return <Message kind="error">{error}</Message>;
  return <pre class="log">{(value?.lines ?? []).map((line) => line.text).join("\n")}</pre>;
}
