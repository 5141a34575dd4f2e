CREATE TABLE ledger (merchant_id bigint PRIMARY KEY, balance bigint NOT NULL);
CREATE TABLE refund (event_id text PRIMARY KEY, merchant_id bigint NOT NULL, amount bigint NOT NULL CHECK (amount > 0));
CREATE TABLE entry (event_id text NOT NULL, side text NOT NULL, amount bigint NOT NULL, note text);
CREATE TABLE account (id bigint PRIMARY KEY);
CREATE TABLE booking (event_id text NOT NULL, account bigint NOT NULL REFERENCES account DEFERRABLE INITIALLY DEFERRED);

CREATE PROCEDURE post(merchant bigint, amount bigint) LANGUAGE sql
  AS $$ UPDATE ledger SET balance = balance + amount WHERE merchant_id = merchant $$;

CREATE FUNCTION add_to(merchant bigint, amount bigint) RETURNS bigint LANGUAGE sql
  AS $$ UPDATE ledger SET balance = balance + amount WHERE merchant_id = merchant RETURNING balance $$;
