CREATE TABLE ledger (merchant_id bigint PRIMARY KEY, balance bigint NOT NULL);
CREATE TABLE accounts (id bigint PRIMARY KEY, name text NOT NULL, version bigint NOT NULL);
