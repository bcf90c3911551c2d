import { formatNumber, formatSigned, toNumber } from "../data/numbers";
import type { Arm, Comparison } from "../data/types";
import { Table, type TableColumn } from "../ui/table";

// The arms side by side: the table that goes into a paper.
export function CompareTable({ comparison }: { comparison: Comparison }) {
  const range = rangeOf(comparison.arms);
  const columns: TableColumn<Arm>[] = [
    {
      key: "label",
      title: "arm",
      value: (arm) => arm.label,
      show: (arm) => armName(arm, comparison),
    },
    {
      key: "n",
      title: "n",
      numeric: true,
      value: (arm) => arm.n,
      show: (arm) => `${arm.n}/${arm.planned}`,
    },
    {
      key: "mean",
      title: comparison.metric,
      numeric: true,
      value: (arm) => arm.mean,
      show: (arm) => formatNumber(arm.mean, 5),
    },
    {
      key: "interval",
      title: "95 % interval",
      value: (arm) => arm.mean,
      show: (arm) => <Whisker arm={arm} range={range} />,
    },
    {
      key: "diff",
      title: "Δ to baseline, paired",
      numeric: true,
      value: (arm) => arm.diff?.mean ?? null,
      show: (arm) => difference(arm, comparison),
    },
    {
      key: "diverged",
      title: "diverged",
      numeric: true,
      value: (arm) => arm.diverged.k,
      show: (arm) => `${arm.diverged.k}/${arm.diverged.n}`,
    },
    {
      key: "growth",
      title: "hidden_ma first → last",
      numeric: true,
      value: (arm) => arm.growth?.ratio ?? null,
      show: (arm) => growthText(arm.growth),
    },
    {
      key: "tokens_per_s",
      title: "tokens/s",
      numeric: true,
      value: (arm) => arm.tokens_per_s,
      show: (arm) => formatNumber(arm.tokens_per_s, 4),
    },
    { key: "differs_in", title: "also differs in", value: (arm) => arm.differs_in.join(", ") },
  ];
  return (
    <section>
      <h2>Comparison</h2>
      <Table
        label="Comparison"
        columns={columns}
        rows={comparison.arms}
        rowKey={(arm) => arm.label}
      />
      {comparison.notes.map((note) => (
        <p class="soft" key={note}>
          {note}
        </p>
      ))}
    </section>
  );
}

function armName(arm: Arm, comparison: Comparison) {
  return (
    <span>
      {arm.names.length > 1 ? arm.names.join(" = ") : arm.label}
      {arm.label === comparison.baseline && <span class="badge">baseline</span>}
    </span>
  );
}

function difference(arm: Arm, comparison: Comparison): string {
  if (arm.label === comparison.baseline) return "0";
  if (arm.diff === null) return "–";
  const { mean, ci_low, ci_high } = arm.diff;
  if (ci_low === null || ci_high === null) return formatSigned(mean);
  return `${formatSigned(mean)} [${formatSigned(ci_low)}, ${formatSigned(ci_high)}]`;
}

function growthText(growth: Arm["growth"]): string {
  if (growth === null) return "–";
  const [first, last, ratio] = [growth.first, growth.last, growth.ratio].map((value) =>
    formatNumber(value, 3),
  );
  return `${first} → ${last} (×${ratio})`;
}

function rangeOf(arms: readonly Arm[]): [number, number] | null {
  const values = arms
    .flatMap((arm) => [arm.mean, arm.ci_low, arm.ci_high])
    .flatMap((value) => (value === null ? [] : [toNumber(value)]))
    .filter(Number.isFinite);
  return values.length > 0 ? [Math.min(...values), Math.max(...values)] : null;
}

const WIDTH = 140;

// Mean and interval of one arm on an axis that all arms share.
function Whisker({ arm, range }: { arm: Arm; range: [number, number] | null }) {
  if (arm.mean === null || range === null || !Number.isFinite(toNumber(arm.mean)))
    return <span>–</span>;
  const span = range[1] - range[0] || 1;
  const x = (value: number) => 6 + ((value - range[0]) / span) * (WIDTH - 12);
  const low = arm.ci_low === null ? null : toNumber(arm.ci_low);
  const high = arm.ci_high === null ? null : toNumber(arm.ci_high);
  const text =
    low === null || high === null
      ? "one run: no interval"
      : `${formatNumber(low, 5)} to ${formatNumber(high, 5)}`;
  return (
    <svg class="whisker" width={WIDTH} height="16" role="img" aria-label={text}>
      <title>{text}</title>
      {low !== null && high !== null && <line x1={x(low)} x2={x(high)} y1="8" y2="8" />}
      <circle cx={x(toNumber(arm.mean))} cy="8" r="3.5" />
    </svg>
  );
}
