INSERT INTO receipt (id, merchant_id, amount)
VALUES (@message_id, @merchant_id, @amount)
----------------------------------------
WITH inboxgen_marker AS (
  INSERT INTO "My Schema"."inbox" (consumer_name, message_id)
  VALUES ($1::text, $2::uuid)
  ON CONFLICT (consumer_name, message_id) DO NOTHING
  RETURNING 1
), inboxgen_effect AS (
INSERT INTO receipt (id, merchant_id, amount)
SELECT $3, $4, $5 FROM inboxgen_marker
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
