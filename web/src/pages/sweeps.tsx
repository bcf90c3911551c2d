import { formatDuration, formatTime } from "../data/numbers";
import { useDocument } from "../data/hooks";
import type { Sweep } from "../data/types";
import { Message, StateBadge, StateBar } from "../ui/parts";

export function SweepsPage() {
  const { value, error } = useDocument<{ sweeps: Sweep[] }>(
    "sweeps",
    (change) => change.sweeps.size > 0,
  );
  if (value === null)
    return error ? <Message kind="error">{error}</Message> : <Message>Loading…</Message>;
  const sweeps = [...value.sweeps].sort((a, b) => b.submitted_at.localeCompare(a.submitted_at));
  return (
    <main>
      <h1>Sweeps</h1>
      {error && <Message kind="error">{error}</Message>}
      {sweeps.length === 0 && (
        <Message>
          No sweeps yet. Submit one from a shell: <code>normlab submit sweep.yaml</code>
        </Message>
      )}
      <ul class="cards">
        {sweeps.map((sweep) => (
          <li key={sweep.id} data-sweep={sweep.id}>
            <SweepCard sweep={sweep} />
          </li>
        ))}
      </ul>
    </main>
  );
}

function SweepCard({ sweep }: { sweep: Sweep }) {
  return (
    <a class="card" href={`#/sweeps/${sweep.id}`}>
      <div class="card-head">
        <span class="id">{sweep.id}</span>
        <strong>{sweep.name}</strong>
        <StateBadge state={sweep.state} />
        <span class="soft right">{formatTime(sweep.submitted_at)}</span>
      </div>
      <StateBar counts={sweep.counts} diverged={sweep.outcomes.diverged} />
      <div class="soft factors">
        {sweep.factors.map((factor) => (
          <span key={factor.key}>
            {factor.key} <b>{factor.levels.map(String).join(" · ")}</b>
          </span>
        ))}
        {sweep.linked > 0 && <span>{sweep.linked} linked</span>}
        {sweep.state === "running" && sweep.eta_s !== null && (
          <span>about {formatDuration(sweep.eta_s)} left</span>
        )}
      </div>
      {sweep.warnings.map((warning) => (
        <div class="warning" key={warning}>
          {warning}
        </div>
      ))}
    </a>
  );
}
