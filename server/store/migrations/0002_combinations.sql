-- A merged cell has the factors of every combination that became it: peri = sandwich is found under
-- both names.

ALTER TABLE cell ADD COLUMN combinations TEXT NOT NULL DEFAULT '[]';  -- JSON array of factors
UPDATE cell SET combinations = json_array(json(factors));

DROP VIEW cell_v;
CREATE VIEW cell_v AS
SELECT 's' || c.sweep || '/c' || c.number AS cell, 's' || c.sweep AS sweep, c.sweep AS sweep_id,
  c.number, c.label, c.names, c.factors, c.baseline, c.combinations
FROM cell c;
