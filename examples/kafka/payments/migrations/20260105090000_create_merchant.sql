-- +goose Up
CREATE TABLE merchant (id bigint PRIMARY KEY, balance bigint NOT NULL);
INSERT INTO merchant SELECT id, 0 FROM generate_series(1, 10) AS id;
CREATE TABLE refund (
  event_id text PRIMARY KEY,
  merchant_id bigint NOT NULL REFERENCES merchant,
  amount bigint NOT NULL
);

-- +goose Down
DROP TABLE refund;
DROP TABLE merchant;
