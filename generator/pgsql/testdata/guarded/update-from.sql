UPDATE ledger AS l
SET balance = l.balance + o.total
FROM orders AS o
WHERE o.id = @order.id AND l.merchant_id = o.merchant_id
RETURNING l.balance
----------------------------------------
WITH inboxgen_marker AS (
  INSERT INTO "My Schema"."inbox" (consumer_name, message_id)
  VALUES ($1::text, $2::uuid)
  ON CONFLICT (consumer_name, message_id) DO NOTHING
  RETURNING 1
), inboxgen_effect AS (
UPDATE ledger AS l
SET balance = l.balance + o.total
FROM orders AS o
WHERE (o.id = $3 AND l.merchant_id = o.merchant_id) AND EXISTS (SELECT 1 FROM inboxgen_marker)
RETURNING l.balance
)
SELECT
  marker.n AS fresh,
  CASE
    WHEN marker.n = 0 OR effect.n > 0 THEN effect.n
    ELSE ('accounting.OrderPaid: expected at least 1 row, affected ' || effect.n)::bigint
  END AS affected
FROM (SELECT count(*) AS n FROM inboxgen_marker) AS marker,
  (SELECT count(*) AS n FROM inboxgen_effect) AS effect
