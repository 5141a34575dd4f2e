INSERT INTO merchant (id, name)
VALUES (@merchant_id, @name)
ON CONFLICT (id) DO NOTHING
----------------------------------------
WITH inboxgen_marker AS (
  INSERT INTO "My Schema"."inbox" (consumer_name, message_id)
  VALUES ($1::text, $2::uuid)
  ON CONFLICT (consumer_name, message_id) DO NOTHING
  RETURNING 1
), inboxgen_effect AS (
INSERT INTO merchant (id, name)
SELECT $3, $4 FROM inboxgen_marker
ON CONFLICT (id) DO NOTHING
RETURNING 1
)
SELECT
  marker.n AS fresh,
  effect.n AS affected
FROM (SELECT count(*) AS n FROM inboxgen_marker) AS marker,
  (SELECT count(*) AS n FROM inboxgen_effect) AS effect
