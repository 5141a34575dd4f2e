CREATE TABLE ledger (merchant_id bigint PRIMARY KEY, balance bigint NOT NULL);
