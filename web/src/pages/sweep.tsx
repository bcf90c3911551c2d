import { useMemo, useState } from "preact/hooks";
import { Figure } from "../chart/figure";
import { useCurves, useDocument, useProfiles } from "../data/hooks";
import { formatDuration, formatTime } from "../data/numbers";
import type { Comparison, Run, Sweep } from "../data/types";
import { Facts, Message, StateBadge, StateBar } from "../ui/parts";
import { useDark } from "../ui/theme";
import { armsOf, curvesByArm, depthCurves } from "./arms";
import { CompareTable } from "./compare_table";
import { RunTable } from "./run_table";

// More curves than this cannot be told apart, nor fetched lightly; the arms to draw are chosen.
const CURVES_MAX = 40;

interface SweepDocument {
  sweep: Sweep & { stop: unknown; resources: unknown };
}

export function SweepPage({ id }: { id: string }) {
  const sweepDoc = useDocument<SweepDocument>(`sweeps/${id}`, (change) => change.sweeps.has(id));
  const runsDoc = useDocument<{ runs: Run[]; factor_keys: string[] }>(
    `sweeps/${id}/runs`,
    (change) => change.sweeps.has(id),
  );
  const compareDoc = useDocument<Comparison>(`sweeps/${id}/compare`, (change) =>
    change.sweeps.has(id),
  );
  const sweep = sweepDoc.value?.sweep;
  const error = sweepDoc.error ?? runsDoc.error;
  if (!sweep || !runsDoc.value) {
    return error ? <Message kind="error">{error}</Message> : <Message>Loading…</Message>;
  }
  return (
    <main>
      <p class="crumbs">
        <a href="#/">Sweeps</a>
      </p>
      <h1>
        <span class="id">{sweep.id}</span> {sweep.name} <StateBadge state={sweep.state} />
      </h1>
      {error && <Message kind="error">{error}</Message>}
      <SweepHead sweep={sweep} />
      <Charts runs={runsDoc.value.runs} />
      {compareDoc.value && <CompareTable comparison={compareDoc.value} />}
      <h2>Runs</h2>
      <RunTable runs={runsDoc.value.runs} factorKeys={runsDoc.value.factor_keys} />
    </main>
  );
}

function SweepHead({ sweep }: { sweep: Sweep }) {
  return (
    <section>
      <StateBar counts={sweep.counts} diverged={sweep.outcomes.diverged} />
      {sweep.warnings.map((warning) => (
        <div class="warning" key={warning}>
          {warning}
        </div>
      ))}
      <Facts
        rows={[
          ["submitted", formatTime(sweep.submitted_at)],
          ["cells × seeds", `${sweep.cells} cells, ${sweep.runs} runs, ${sweep.linked} linked`],
          ["baseline", sweep.baseline ?? "–"],
          ...(sweep.eta_s !== null && sweep.state === "running"
            ? [["time left", `about ${formatDuration(sweep.eta_s)}`] as [string, string]]
            : []),
          ...sweep.factors.map(
            (factor) => [factor.key, factor.levels.map(String).join(" · ")] as [string, string],
          ),
        ]}
      />
    </section>
  );
}

function Charts({ runs }: { runs: readonly Run[] }) {
  const dark = useDark();
  const arms = useMemo(() => armsOf(runs), [runs]);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const shown = useMemo(() => {
    const visible = runs.filter((run) => !hidden.has(run.label));
    return visible.slice(0, CURVES_MAX);
  }, [runs, hidden]);
  const left = runs.filter((run) => !hidden.has(run.label)).length - shown.length;
  const losses = useCurves(shown, "train_loss");
  const profiles = useProfiles(shown, "hidden_ma");
  const lossCurves = useMemo(
    () => curvesByArm(shown, arms, losses, dark),
    [shown, arms, losses, dark],
  );
  const depth = useMemo(
    () => depthCurves(shown, arms, profiles, dark),
    [shown, arms, profiles, dark],
  );
  const toggle = (arm: string) => {
    const next = new Set(hidden);
    if (!next.delete(arm)) next.add(arm);
    setHidden(next);
  };
  return (
    <section>
      <div class="arms" role="group" aria-label="Arms drawn">
        {arms.map((arm) => (
          <button
            type="button"
            class="switch"
            key={arm.label}
            aria-pressed={!hidden.has(arm.label)}
            onClick={() => toggle(arm.label)}
          >
            {arm.label}
          </button>
        ))}
        {left > 0 && (
          <span class="soft">{left} more runs are not drawn: switch arms off to see them</span>
        )}
      </div>
      <div class="figures">
        <Figure
          title="Train loss"
          note="nats per token, each seed"
          xLabel="step"
          curves={lossCurves}
          height={300}
        />
        <Figure
          title="Hidden-state magnitude over depth"
          note="hidden_ma, mean over seeds, newest"
          xLabel="sublayer"
          curves={depth}
          height={300}
        />
      </div>
    </section>
  );
}
