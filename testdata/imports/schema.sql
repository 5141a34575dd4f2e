CREATE TABLE kept (id text PRIMARY KEY, amount bigint, tags text[], times timestamptz[], moments timestamptz[]);
