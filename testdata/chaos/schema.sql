CREATE TABLE account (
  broker text, id bigint, PRIMARY KEY (broker, id),
  n bigint NOT NULL DEFAULT 0,          -- messages applied
  sum bigint NOT NULL DEFAULT 0,        -- of their amounts
  last bigint NOT NULL DEFAULT 0,       -- the number of the last one
  disorder bigint NOT NULL DEFAULT 0    -- how many came after a later one
);
CREATE TABLE audit (broker text NOT NULL, event_id text NOT NULL);
