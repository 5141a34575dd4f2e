package pgsql

// BatchMarkerSQL inserts the markers of a batch and returns the ids of the fresh ones: $1 the consumer, $2 the ids, $3
// their fingerprints where reuse is detected. Rows are inserted in the order of the array, so that of two batches with
// sorted ids one waits for the other and never both.
func (i Inbox) BatchMarkerSQL() string {
	columns, values, arrays, names := "consumer_name, message_id", "$1::text, m.id::"+i.MessageIDType, "$2::text[]", "id"
	if i.DetectReuse {
		columns, values, arrays, names = columns+", fingerprint", values+", m.fingerprint", arrays+", $3::bigint[]", names+", fingerprint"
	}
	return "INSERT INTO " + i.Name() + " (" + columns + ")\n" +
		"SELECT " + values + " FROM unnest(" + arrays + ") AS m(" + names + ")\n" +
		"ON CONFLICT (consumer_name, message_id) DO NOTHING\n" +
		"RETURNING message_id::text"
}

// BatchSeenSQL reads the fingerprints of the markers that are already there: $1 the consumer, $2 the ids.
func (i Inbox) BatchSeenSQL() string {
	return "SELECT message_id::text, fingerprint FROM " + i.Name() + "\n" +
		"WHERE consumer_name = $1::text AND message_id = ANY ($2::" + i.MessageIDType + "[])"
}
