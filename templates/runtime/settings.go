// Package runtime is the part of the generated code that does not change with the spec. It is compiled and tested here
// and emitted file by file, with the package clause changed. This file stands in for the settings that are generated
// from the spec, and is not emitted.
package runtime

import "time"

const (
	detectReuse   = true
	messageIDType = "text"
)

const markerSQL = `INSERT INTO "inbox" (consumer_name, message_id, fingerprint)
VALUES ($1::text, $2::text, $3::bigint)
ON CONFLICT (consumer_name, message_id) DO NOTHING`

const seenSQL = `SELECT fingerprint FROM "inbox" WHERE consumer_name = $1::text AND message_id = $2::text`

const purgeSQL = `DELETE FROM "inbox"
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM "inbox"
    WHERE consumer_name = $1::text AND processed_at < now() - make_interval(secs => $2::double precision)
    ORDER BY processed_at
    LIMIT $3::bigint
    FOR UPDATE SKIP LOCKED
  ))
  AND consumer_name = $1::text AND processed_at < now() - make_interval(secs => $2::double precision)`

var windows = []window{{"accounting", 8 * 24 * time.Hour}}
