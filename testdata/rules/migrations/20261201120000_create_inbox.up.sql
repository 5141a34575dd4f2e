-- One row per message that a consumer has applied. The primary key decides what is a duplicate;
-- the index serves the deletion of old rows.
CREATE TABLE "inbox" (
  consumer_name text COLLATE "C" NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  fingerprint bigint,
  processed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (consumer_name, message_id)
);
CREATE INDEX "inbox_processed_at_idx" ON "inbox" (consumer_name, processed_at);
