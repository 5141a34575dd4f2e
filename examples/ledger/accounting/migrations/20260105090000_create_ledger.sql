-- +goose Up
CREATE TABLE ledger (
  merchant_id bigint PRIMARY KEY,
  balance bigint NOT NULL
);
CREATE TABLE refund (
  event_id text PRIMARY KEY,
  merchant_id bigint NOT NULL REFERENCES ledger,
  amount bigint NOT NULL,
  reason text
);

-- +goose Down
DROP TABLE refund;
DROP TABLE ledger;
