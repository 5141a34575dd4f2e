WITH RECURSIVE tree(id) AS (
  SELECT @merchant_id::bigint -- the root
  UNION ALL
  SELECT m.id FROM merchant m JOIN tree ON m.parent_id = tree.id
)
UPDATE ledger SET balance = balance + @amount
FROM tree
WHERE ledger.merchant_id = tree.id
----------------------------------------
WITH RECURSIVE inboxgen_marker AS (
  INSERT INTO "My Schema"."inbox" (consumer_name, message_id)
  VALUES ($1::text, $2::uuid)
  ON CONFLICT (consumer_name, message_id) DO NOTHING
  RETURNING 1
), tree(id) AS (
  SELECT $3::bigint -- the root
  UNION ALL
  SELECT m.id FROM merchant m JOIN tree ON m.parent_id = tree.id
),
inboxgen_effect AS (
UPDATE ledger SET balance = balance + $4
FROM tree
WHERE (ledger.merchant_id = tree.id) AND EXISTS (SELECT 1 FROM inboxgen_marker)
RETURNING 1
)
SELECT
  marker.n AS fresh,
  CASE
    WHEN marker.n = 0 OR effect.n > 0 THEN effect.n
    ELSE ('accounting.OrderPaid: expected at least 1 row, affected ' || effect.n)::bigint
  END AS affected
FROM (SELECT count(*) AS n FROM inboxgen_marker) AS marker,
  (SELECT count(*) AS n FROM inboxgen_effect) AS effect
