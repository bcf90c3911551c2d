import { formatNumber } from "../data/numbers";
import type { Run } from "../data/types";
import { formatValue, Progress, StateBadge } from "../ui/parts";
import { Table, type TableColumn } from "../ui/table";

// The runs of a sweep with only those factors as columns that differ between them.
export function RunTable(props: { runs: readonly Run[]; factorKeys: readonly string[] }) {
  const differing = props.factorKeys.filter(
    (key) => new Set(props.runs.map((run) => formatValue(run.factors[key]))).size > 1,
  );
  const columns: TableColumn<Run>[] = [
    {
      key: "id",
      title: "run",
      value: (run) => run.id,
      show: (run) => <a href={`#/runs/${run.id}`}>{run.id}</a>,
    },
    { key: "label", title: "arm", value: (run) => run.label },
    ...differing.map((key): TableColumn<Run> => ({
      key,
      title: key,
      value: (run) => run.factors[key],
      show: (run) => formatValue(run.factors[key]),
    })),
    { key: "seed", title: "seed", numeric: true, value: (run) => run.seed },
    {
      key: "state",
      title: "state",
      value: (run) => run.state,
      show: (run) => (
        <span title={run.explain}>
          <StateBadge state={run.state} outcome={run.outcome} />
          {run.linked && <span class="badge">linked</span>}
        </span>
      ),
    },
    {
      key: "step",
      title: "step",
      value: (run) => run.step,
      show: (run) => <Progress step={run.step} steps={run.steps} state={run.state} />,
    },
    numeric("train_loss", "train loss", 4),
    numeric("val_loss", "val loss", 5),
    numeric("grad_norm", "grad norm", 3),
    numeric("spikes", "spikes", 4),
    numeric("first_nonfinite_step", "first non-finite", 6),
    numeric("growth", "growth", 3),
    numeric("tokens_per_s", "tokens/s", 4),
  ];
  return <Table label="Runs" columns={columns} rows={props.runs} rowKey={(run) => run.id} />;
}

type NumericField =
  | "train_loss"
  | "val_loss"
  | "grad_norm"
  | "spikes"
  | "first_nonfinite_step"
  | "growth"
  | "tokens_per_s";

function numeric(key: NumericField, title: string, digits: number): TableColumn<Run> {
  return {
    key,
    title,
    numeric: true,
    value: (run) => run[key],
    show: (run) => formatNumber(run[key], digits),
  };
}
