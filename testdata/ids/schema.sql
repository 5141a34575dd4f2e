CREATE TABLE noted (consumer text NOT NULL, message_id text NOT NULL, note text NOT NULL, tag text);
