// The server's documents, as the query layer writes them. A number that is not finite travels as
// the text "nan", "inf" or "-inf".

declare const brand: unique symbol;
type Branded<B> = string & { readonly [brand]: B };
export type SweepId = Branded<"sweep">;
export type RunId = Branded<"run">;

export type Marker = "nan" | "inf" | "-inf";
export type Numeric = number | Marker;
export type Value = Numeric | string | boolean | null;

export type RunState = "queued" | "waiting" | "running" | "done" | "failed" | "cancelled";
export type Outcome = "healthy" | "diverged" | "censored";
export type SweepState = RunState | "paused";

export interface Factor {
  key: string;
  levels: Value[];
}

export interface Sweep {
  id: SweepId;
  name: string;
  submitted_at: string;
  state: SweepState;
  baseline: string | null;
  cells: number;
  runs: number;
  linked: number;
  counts: Record<RunState, number>;
  outcomes: Record<Outcome, number>;
  factors: Factor[];
  progress: number;
  eta_s: number | null;
  warnings: string[];
}

export interface Run {
  id: RunId;
  cell: string;
  label: string;
  seed: number;
  identity: string;
  state: RunState;
  outcome: Outcome | null;
  reason: string | null;
  stopped_by: string | null;
  factors: Record<string, Value>;
  step: number;
  steps: number;
  attempt: number;
  worker: string | null;
  linked: boolean;
  queued_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  train_loss: Numeric | null;
  val_loss: Numeric | null;
  best_val_loss: Numeric | null;
  ppl_of_mean: Numeric | null;
  mean_seq_ppl: Numeric | null;
  grad_norm: Numeric | null;
  tokens_per_s: Numeric | null;
  spikes: number | null;
  first_nonfinite_step: number | null;
  growth: Numeric | null;
  device_seconds: number | null;
  explain: string;
}

export interface Attempt {
  number: number;
  worker: string | null;
  state: string;
  parent: number | null;
  start_step: number;
  last_step: number | null;
  started_at: string | null;
  ended_at: string | null;
  exit_code: number | null;
  signal: number | null;
  reason: string | null;
  max_rss_bytes: number | null;
  cpu_s: number | null;
  last_lines: string[];
}

export interface RunDetail extends Run {
  config: Record<string, Value>;
  sweeps: SweepId[];
  attempts: Attempt[];
  scalar_keys: string[];
  profile_keys: string[];
}

export interface ExactScalars {
  exact: true;
  step: number[];
  value: Numeric[];
  attempt: number[];
}

export interface PictureScalars {
  exact: false;
  from: number[];
  to: number[];
  min: (Numeric | null)[];
  max: (Numeric | null)[];
  first: (Numeric | null)[];
  last: (Numeric | null)[];
  n: number[];
  nonfinite: number[];
}

export interface Profiles {
  key: string;
  first_index: number;
  step: number[];
  values: Numeric[][];
}

export interface RunEvent {
  step: number;
  kind: string;
  attempt: number;
  detail: Record<string, Value>;
}

export interface Evaluation {
  step: number;
  val_loss: Numeric;
  ppl_of_mean: Numeric;
  mean_seq_ppl: Numeric;
}

export interface Arm {
  label: string;
  names: string[];
  cell: string | null;
  n: number;
  planned: number;
  mean: Numeric | null;
  ci_low: Numeric | null;
  ci_high: Numeric | null;
  diff: { mean: Numeric; ci_low: Numeric | null; ci_high: Numeric | null; n_pairs: number } | null;
  diverged: { k: number; n: number };
  growth: { first: Numeric; last: Numeric; ratio: Numeric } | null;
  tokens_per_s: Numeric | null;
  differs_in: string[];
}

export interface Comparison {
  metric: string;
  baseline: string;
  arms: Arm[];
  notes: string[];
}

export interface Worker {
  id: string;
  host: string;
  state: string;
  slots: number;
  busy: number;
  last_seen_at: string | null;
}
