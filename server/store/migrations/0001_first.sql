-- Everything normlab knows. Times are ISO 8601 text in UTC. A REAL that is NULL where a value must
-- be was NaN (SQLite cannot hold NaN in a column); the exact bits are in a BLOB beside it or in a
-- block.
--
-- Who writes what: the dispatcher writes sweep, cell, member, run, attempt, worker, data_set and
-- transition; ingest writes attempt_log, scalar_block, profile_row, event, eval, log_line,
-- checkpoint, verdict and run_summary. Both through the one writing connection.

CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

-- One row per submitted file.
CREATE TABLE sweep (
  id INTEGER PRIMARY KEY,                -- s3 is 3
  name TEXT NOT NULL,
  client_key TEXT NOT NULL UNIQUE,       -- a submission sent twice is one sweep
  spec TEXT NOT NULL,                    -- JSON, SweepSpec::ToJson
  answer TEXT NOT NULL,                  -- JSON, the document that the submitter got
  combinations INTEGER NOT NULL,
  excluded INTEGER NOT NULL,
  priority INTEGER NOT NULL DEFAULT 0,   -- higher first
  max_failures INTEGER NOT NULL DEFAULT 0,  -- cancelled when more runs than this failed; 0: never
  submitted_at TEXT NOT NULL,
  cancelled_at TEXT,
  cancel_reason TEXT
) STRICT;

-- One combination of factor levels of a sweep; combinations that are one config are one cell.
CREATE TABLE cell (
  sweep INTEGER NOT NULL REFERENCES sweep(id),
  number INTEGER NOT NULL,               -- c4 is 4
  label TEXT NOT NULL,                   -- names joined by " = "
  names TEXT NOT NULL,                   -- JSON array of text
  factors TEXT NOT NULL,                 -- JSON object: factor → level, types kept
  baseline INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (sweep, number)
) STRICT, WITHOUT ROWID;

-- What a data set was when a run asked for it.
CREATE TABLE data_set (
  sha256 TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  vocab INTEGER NOT NULL,
  train_tokens INTEGER NOT NULL,
  val_tokens INTEGER NOT NULL,
  tokenizer TEXT NOT NULL,
  unigram_entropy REAL                   -- nats, of the validation set
) STRICT, WITHOUT ROWID;

-- One config with one seed: the unit of scheduling.
CREATE TABLE run (
  id INTEGER PRIMARY KEY,                -- r37 is 37
  identity TEXT NOT NULL,                -- 16 hex digits; twice only by --fresh or after a failure
  canonical TEXT NOT NULL,               -- JSON, what the identity is the hash of
  config TEXT NOT NULL,                  -- JSON, nested, fully resolved
  config_flat TEXT NOT NULL,             -- JSON, dotted keys
  factors TEXT NOT NULL,                 -- JSON object: the factors of all sweeps that asked for it
  label TEXT NOT NULL,                   -- of the cell that asked first
  observations TEXT NOT NULL,            -- JSON, what is recorded
  stop TEXT NOT NULL,                    -- JSON, StopPolicy
  data_name TEXT NOT NULL,
  data_sha256 TEXT NOT NULL,
  seed INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  warmup INTEGER NOT NULL,               -- steps
  cost_class TEXT NOT NULL,              -- runs of one class take about the same time per step
  gpus INTEGER NOT NULL,
  cpus INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  budget_failures INTEGER NOT NULL,
  budget_preemptions INTEGER NOT NULL,   -- -1: unlimited
  budget_time_s REAL NOT NULL,           -- 0: unlimited
  budget_stall_s REAL NOT NULL,          -- 0: never
  state TEXT NOT NULL,                   -- queued waiting running done failed cancelled
  reason TEXT NOT NULL,                  -- code of the last transition
  failure TEXT NOT NULL DEFAULT '',      -- kind of the last failed attempt: lost_worker …
  outcome TEXT,                          -- of a done run: healthy diverged censored
  stopped_by TEXT NOT NULL DEFAULT '',   -- rule that ended it early
  failures INTEGER NOT NULL DEFAULT 0,   -- that count against the budget
  preemptions INTEGER NOT NULL DEFAULT 0,
  idle_losses INTEGER NOT NULL DEFAULT 0,  -- attempts lost in a row without any progress
  used_s REAL NOT NULL DEFAULT 0,        -- wall time of ended attempts, against budget_time_s
  waiting_until TEXT,
  avoid_worker TEXT NOT NULL DEFAULT '', -- it failed there last
  attempts INTEGER NOT NULL DEFAULT 0,
  head INTEGER NOT NULL DEFAULT 0,       -- attempt whose line of parents is the series; 0: none
  queued_at TEXT NOT NULL,
  started_at TEXT,
  finished_at TEXT
) STRICT;
CREATE INDEX run_identity ON run(identity);
CREATE INDEX run_cost ON run(cost_class) WHERE state = 'done';

-- (sweep, cell, seed) → run. Many to many: sweeps link runs that others did or are doing.
CREATE TABLE member (
  sweep INTEGER NOT NULL,
  cell INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  run INTEGER NOT NULL REFERENCES run(id),
  linked INTEGER NOT NULL,               -- 1: the run existed before this sweep
  dropped_at TEXT,                       -- the sweep was cancelled and no longer asks for the run
  PRIMARY KEY (sweep, cell, seed),
  FOREIGN KEY (sweep, cell) REFERENCES cell(sweep, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX member_run ON member(run);

-- One try of a run on one worker. It counts in the run's series over the steps
-- count_after < step <= count_to; nothing when they are equal.
CREATE TABLE attempt (
  run INTEGER NOT NULL REFERENCES run(id),
  number INTEGER NOT NULL,               -- from 1
  token INTEGER NOT NULL UNIQUE,         -- the 64 bits of the lease token
  worker TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  store_id TEXT NOT NULL,                -- where its checkpoints lie
  state TEXT NOT NULL,                   -- running; ended: exit processed; void: changes nothing
  reason TEXT NOT NULL DEFAULT '',       -- failure kind when it gave no result
  parent INTEGER NOT NULL DEFAULT 0,     -- attempt whose checkpoint it resumed; 0: from scratch
  start_step INTEGER NOT NULL DEFAULT 0, -- step of that checkpoint
  count_after INTEGER NOT NULL,
  count_to INTEGER NOT NULL,
  assigned_at TEXT NOT NULL,
  ended_at TEXT,
  PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_live ON attempt(state) WHERE state = 'running';

-- What the attempt's log said so far. acked_seq is the watermark: records up to it are committed.
CREATE TABLE attempt_log (
  run INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  acked_seq INTEGER NOT NULL DEFAULT 0,
  last_step INTEGER NOT NULL DEFAULT 0,  -- last finished optimiser step
  lost_records INTEGER NOT NULL DEFAULT 0,
  hello TEXT,                            -- JSON of the HelloRecord
  resumed_from_step INTEGER,             -- -1: from scratch; NULL: no hello yet
  started_at TEXT,                       -- by the trainer's clock
  exit_seq INTEGER,                      -- NULL: no exit record yet
  exit_at TEXT,                          -- when it was committed
  exit_code INTEGER,
  signal INTEGER,
  exit_reason TEXT,                      -- a failure kind, or ''
  stopped_by TEXT,
  max_rss_bytes INTEGER,
  wall_s REAL,
  cpu_s REAL,
  last_lines TEXT,                       -- JSON array of text
  outcome TEXT,                          -- of a finished attempt: healthy diverged censored
  PRIMARY KEY (run, attempt),
  FOREIGN KEY (run, attempt) REFERENCES attempt(run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE worker (
  id TEXT PRIMARY KEY,
  incarnation TEXT NOT NULL,
  state TEXT NOT NULL,                   -- connected lost
  host TEXT NOT NULL,
  local INTEGER NOT NULL,
  draining INTEGER NOT NULL,
  slots INTEGER NOT NULL,
  cpus INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  gpus TEXT NOT NULL,                    -- JSON array of {id, name, memory_bytes}
  store_id TEXT NOT NULL,
  protocol INTEGER NOT NULL,
  build TEXT NOT NULL,
  trainer_build TEXT NOT NULL,
  trainer_math INTEGER NOT NULL,
  torch TEXT NOT NULL,
  isa TEXT NOT NULL,
  trainer_error TEXT NOT NULL,           -- why its trainer cannot run; '': it can
  failures_in_a_row INTEGER NOT NULL DEFAULT 0,
  quarantined_until TEXT,
  first_seen_at TEXT NOT NULL,
  last_seen_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Every change of a run's state, with its reason code.
CREATE TABLE transition (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id),
  at TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 0,
  worker TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX transition_run ON transition(run);

-- Numbers per step, in blocks that are appended to until full (server/store/block_codec.h). min and
-- max are over the finite values; NULL when there are none.
CREATE TABLE scalar_block (
  run INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  key TEXT NOT NULL,
  block INTEGER NOT NULL,                -- from 0
  first_step INTEGER NOT NULL,
  last_step INTEGER NOT NULL,
  n INTEGER NOT NULL,
  nonfinite INTEGER NOT NULL,
  min REAL,
  max REAL,
  codec INTEGER NOT NULL,
  version INTEGER NOT NULL,
  blob BLOB NOT NULL,
  PRIMARY KEY (run, attempt, key, block)
) STRICT;

-- One vector per step, indexed by depth from first_index on. (A table named profile would hide the
-- function profile().)
CREATE TABLE profile_row (
  run INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  key TEXT NOT NULL,
  step INTEGER NOT NULL,
  first_index INTEGER NOT NULL,
  n INTEGER NOT NULL,
  codec INTEGER NOT NULL,
  version INTEGER NOT NULL,
  blob BLOB NOT NULL,
  PRIMARY KEY (run, attempt, key, step)
) STRICT;

CREATE TABLE eval (
  run INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  step INTEGER NOT NULL,
  val_loss REAL,                         -- nats per token
  ppl_of_mean REAL,
  mean_seq_ppl REAL,
  bits BLOB NOT NULL,                    -- the three as little-endian doubles, NaN bits kept
  PRIMARY KEY (run, attempt, step)
) STRICT;

-- Something that happened at a step. detector '' : the trainer said so.
CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  step INTEGER NOT NULL,
  kind TEXT NOT NULL,                    -- loss_spike nonfinite stopped …
  baseline REAL,
  height REAL,
  z REAL,
  recovered INTEGER,                     -- NULL: not over yet, or does not apply
  detector TEXT NOT NULL,
  version INTEGER NOT NULL,
  parameters TEXT NOT NULL,              -- JSON
  detail TEXT NOT NULL                   -- JSON
) STRICT;
CREATE INDEX event_run ON event(run, attempt, step);
CREATE UNIQUE INDEX event_detected ON event(run, attempt, step, kind, detector)
  WHERE detector <> '';

CREATE TABLE checkpoint (
  run INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  step INTEGER NOT NULL,
  dir TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (run, attempt, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE log_line (
  run INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  seq INTEGER NOT NULL,                  -- of the record in the attempt's log
  text TEXT NOT NULL,
  PRIMARY KEY (run, attempt, seq)
) STRICT, WITHOUT ROWID;

-- A conclusion with its method; estimate, low and high where it is a number with an interval.
CREATE TABLE verdict (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  kind TEXT NOT NULL,                    -- diverged_hard diverged_soft …
  value TEXT NOT NULL,                   -- yes no n/a …
  estimate REAL,
  low REAL,
  high REAL,
  method TEXT NOT NULL,
  version INTEGER NOT NULL,
  parameters TEXT NOT NULL,              -- JSON
  UNIQUE (run, attempt, kind)
) STRICT;

-- The newest numbers of each run, kept by the writer so that lists never touch a series.
CREATE TABLE run_summary (
  run INTEGER PRIMARY KEY REFERENCES run(id),
  attempt INTEGER NOT NULL,
  step INTEGER NOT NULL,                 -- last finished optimiser step
  train_loss REAL,
  grad_norm REAL,
  lr REAL,
  tokens_per_s REAL,
  tokens INTEGER NOT NULL,
  val_step INTEGER,                      -- of the newest evaluation
  val_loss REAL,
  ppl_of_mean REAL,
  mean_seq_ppl REAL,
  best_val_loss REAL,
  best_val_step INTEGER,
  spikes INTEGER NOT NULL,
  first_nonfinite_step INTEGER,
  growth_first REAL,                     -- of the newest hidden_ma: first depth, last depth
  growth_last REAL,
  nan_columns TEXT NOT NULL DEFAULT '[]'  -- JSON array: columns here that are NULL because of NaN
) STRICT;

-- ---------------------------------------------------------------------------------------------
-- Views: the documented surface. Columns are only ever added.

CREATE VIEW sweep_v AS
SELECT 's' || s.id AS sweep, s.id AS sweep_id, s.name, s.submitted_at, s.cancelled_at,
  s.cancel_reason, s.priority, s.max_failures, s.combinations, s.excluded,
  (SELECT count(*) FROM cell c WHERE c.sweep = s.id) AS cells,
  (SELECT count(*) FROM member m WHERE m.sweep = s.id) AS runs,
  (SELECT count(*) FROM member m WHERE m.sweep = s.id AND m.linked) AS linked,
  (SELECT count(*) FROM member m JOIN run r ON r.id = m.run
    WHERE m.sweep = s.id AND r.state = 'done') AS done,
  (SELECT count(*) FROM member m JOIN run r ON r.id = m.run
    WHERE m.sweep = s.id AND r.state = 'failed') AS failed,
  s.spec
FROM sweep s;

CREATE VIEW cell_v AS
SELECT 's' || c.sweep || '/c' || c.number AS cell, 's' || c.sweep AS sweep, c.sweep AS sweep_id,
  c.number, c.label, c.names, c.factors, c.baseline
FROM cell c;

CREATE VIEW member_v AS
SELECT 's' || m.sweep AS sweep, 's' || m.sweep || '/c' || m.cell AS cell, 'r' || m.run AS run,
  m.sweep AS sweep_id, m.cell AS cell_number, m.run AS run_id, m.seed, m.linked, m.dropped_at
FROM member m;

CREATE VIEW run_v AS
SELECT 'r' || r.id AS run, r.id AS run_id, r.label, r.seed, r.factors, r.state, r.outcome, r.reason,
  r.failure, r.stopped_by, coalesce(y.step, 0) AS step, r.steps, r.attempts, r.head AS attempt,
  (SELECT a.worker FROM attempt a WHERE a.run = r.id AND a.number = r.attempts) AS worker,
  y.train_loss, y.val_loss, y.val_step, y.best_val_loss, y.best_val_step, y.ppl_of_mean,
  y.mean_seq_ppl, y.grad_norm, y.lr, y.tokens_per_s, coalesce(y.tokens, 0) AS tokens,
  coalesce(y.spikes, 0) AS spikes, y.first_nonfinite_step, y.growth_first, y.growth_last,
  coalesce((SELECT sum(l.wall_s) FROM attempt_log l WHERE l.run = r.id), 0) * max(r.gpus, 1)
    AS device_seconds,
  y.nan_columns, r.failures, r.preemptions, r.waiting_until, r.gpus, r.cpus, r.memory_bytes,
  r.queued_at, r.started_at, r.finished_at, r.identity, r.data_name, r.data_sha256,
  r.config_flat AS config
FROM run r LEFT JOIN run_summary y ON y.run = r.id;

CREATE VIEW attempt_v AS
SELECT 'r' || a.run AS run, a.run AS run_id, a.number AS attempt, a.worker, a.state, a.reason,
  nullif(a.parent, 0) AS parent, a.start_step, coalesce(l.last_step, 0) AS last_step,
  a.count_after, a.count_to, a.assigned_at, l.started_at, a.ended_at, l.exit_code, l.signal,
  l.exit_reason, l.stopped_by, l.max_rss_bytes, l.wall_s, l.cpu_s, l.last_lines, l.hello,
  l.lost_records, coalesce(l.acked_seq, 0) AS acked_seq, l.outcome,
  printf('%016x', a.token) AS token
FROM attempt a LEFT JOIN attempt_log l ON l.run = a.run AND l.attempt = a.number;

CREATE VIEW worker_v AS
SELECT w.id AS worker, w.state, w.host, w.local, w.draining, w.slots,
  (SELECT count(*) FROM attempt a WHERE a.state = 'running' AND a.worker = w.id) AS busy,
  w.cpus, w.memory_bytes, w.gpus, w.isa, w.torch, w.trainer_math, w.trainer_error, w.build,
  w.trainer_build, w.failures_in_a_row, w.quarantined_until, w.first_seen_at, w.last_seen_at,
  w.incarnation, w.store_id
FROM worker w;

-- counted: inside the steps that its attempt contributes to the run.
CREATE VIEW event_v AS
SELECT 'r' || e.run AS run, e.run AS run_id, e.attempt, e.step, e.kind, e.baseline, e.height, e.z,
  e.recovered, e.detector, e.version, e.parameters, e.detail,
  e.step > a.count_after AND e.step <= a.count_to AS counted
FROM event e JOIN attempt a ON a.run = e.run AND a.number = e.attempt;

CREATE VIEW eval_v AS
SELECT 'r' || e.run AS run, e.run AS run_id, e.attempt, e.step, e.val_loss, e.ppl_of_mean,
  e.mean_seq_ppl, e.step > a.count_after AND e.step <= a.count_to AS counted
FROM eval e JOIN attempt a ON a.run = e.run AND a.number = e.attempt;

CREATE VIEW verdict_v AS
SELECT 'r' || v.run AS run, v.run AS run_id, v.attempt, v.kind, v.value, v.estimate, v.low, v.high,
  v.method, v.version, v.parameters
FROM verdict v;
