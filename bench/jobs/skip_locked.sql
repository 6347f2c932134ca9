-- One cycle, for pgbench: add a job, take the oldest that nobody holds, remove it. Each statement is
-- a transaction. \aset: where others have just taken all that this snapshot shows, nothing is taken.
INSERT INTO jobs (payload) VALUES (repeat('x', :payload));
\set taken 0
UPDATE jobs SET taken_at = now() WHERE id = (SELECT id FROM jobs WHERE taken_at IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id AS taken, payload AS content \aset
DELETE FROM jobs WHERE id = :taken;
