MERGE INTO stock AS s
USING (SELECT @sku::text AS sku, @quantity::int AS n) AS m ON s.sku = m.sku
WHEN MATCHED AND s.n + m.n < 0 OR s.closed THEN DO NOTHING
WHEN MATCHED THEN UPDATE SET n = s.n + m.n
WHEN NOT MATCHED THEN INSERT (sku, n) VALUES (m.sku, m.n)
----------------------------------------
WITH inboxgen_marker AS (
  INSERT INTO "My Schema"."inbox" (consumer_name, message_id)
  VALUES ($1::text, $2::uuid)
  ON CONFLICT (consumer_name, message_id) DO NOTHING
  RETURNING 1
), inboxgen_effect AS (
MERGE INTO stock AS s
USING (SELECT $3::text AS sku, $4::int AS n) AS m ON s.sku = m.sku
WHEN MATCHED AND (s.n + m.n < 0 OR s.closed) AND EXISTS (SELECT 1 FROM inboxgen_marker) THEN DO NOTHING
WHEN MATCHED AND EXISTS (SELECT 1 FROM inboxgen_marker) THEN UPDATE SET n = s.n + m.n
WHEN NOT MATCHED AND EXISTS (SELECT 1 FROM inboxgen_marker) THEN INSERT (sku, n) VALUES (m.sku, m.n)
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
