CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL DEFAULT 0, history text[] NOT NULL DEFAULT '{}');
CREATE TABLE refund (event_id text PRIMARY KEY, account bigint NOT NULL);
