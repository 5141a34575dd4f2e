CREATE TABLE ledger (
  merchant_id bigint PRIMARY KEY,
  balance bigint NOT NULL DEFAULT 0,
  name varchar(40),
  note text,
  tags text[] NOT NULL DEFAULT '{}',
  doc jsonb NOT NULL DEFAULT '{}',
  uid uuid,
  active boolean NOT NULL DEFAULT true,
  at timestamptz
);
INSERT INTO ledger (merchant_id, balance, name, tags, doc, uid) VALUES
  (1, 10, 'one', '{a,b,c}', '{"a": 1, "tags": ["x"]}', '00000000-0000-0000-0000-000000000001'),
  (2, 20, 'two', '{b}', '{"a": 2, "k": {"b": true}}', '00000000-0000-0000-0000-000000000002'),
  (3, 30, 'three', '{}', '{}', NULL);

CREATE TYPE pair AS (n bigint, s text);
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TABLE entry (
  id text PRIMARY KEY DEFAULT 'default',
  merchant_id bigint,
  amount bigint,
  side text NOT NULL DEFAULT 'debit',
  note varchar(100),
  uid uuid,
  doc jsonb,
  pair pair,
  pairs pair[],
  mood mood
);
INSERT INTO entry (id, merchant_id, amount) VALUES ('e1', 1, 1), ('e2', 2, 2);

CREATE TABLE daily (day date, merchant_id bigint, total numeric NOT NULL DEFAULT 0, PRIMARY KEY (day, merchant_id));

CREATE TABLE "Odd Table" ("Select" bigint PRIMARY KEY, "a@b" text, "quo""te" text, "from" text);
INSERT INTO "Odd Table" VALUES (1, 'x', 'y', 'z');

CREATE SCHEMA other;
CREATE TABLE other.ledger (LIKE public.ledger INCLUDING ALL);
INSERT INTO other.ledger SELECT * FROM public.ledger;

CREATE TABLE parted (id bigint, part bigint, n bigint, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
INSERT INTO parted VALUES (1, 1, 1), (2, 2, 2);

CREATE VIEW poor AS SELECT merchant_id, balance FROM ledger WHERE balance < 25;

CREATE FUNCTION pay(merchant bigint, amount bigint) RETURNS bigint LANGUAGE sql
  AS $$ UPDATE ledger SET balance = balance + amount WHERE merchant_id = merchant RETURNING balance $$;
CREATE FUNCTION pay_all(amount bigint) RETURNS SETOF bigint LANGUAGE sql
  AS $$ UPDATE ledger SET balance = balance + amount RETURNING balance $$;
CREATE FUNCTION twice(n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT n * 2 $$;
CREATE PROCEDURE post(merchant bigint, amount bigint) LANGUAGE sql
  AS $$ UPDATE ledger SET balance = balance + amount WHERE merchant_id = merchant $$;
CREATE AGGREGATE last_of(bigint) (SFUNC = int8larger, STYPE = bigint);
CREATE FUNCTION marks(a bigint, b bigint) RETURNS boolean LANGUAGE sql
  AS $$ UPDATE ledger SET note = 'marked' WHERE merchant_id = a RETURNING true $$;
CREATE OPERATOR %%% (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = marks);
CREATE FUNCTION "pg_catalog.upper"(n bigint) RETURNS bigint LANGUAGE sql AS $$ SELECT pay(n, 1) $$;

CREATE TABLE copies (LIKE entry);
INSERT INTO copies (id, amount, side) VALUES ('c1', 1, 'debit');

CREATE VIEW ruled AS SELECT merchant_id, balance FROM ledger;
CREATE RULE ruled_update AS ON UPDATE TO ruled DO INSTEAD
  UPDATE ledger SET balance = NEW.balance, note = 'by rule' WHERE merchant_id = OLD.merchant_id RETURNING merchant_id, balance;
CREATE RULE ruled_delete AS ON DELETE TO ruled DO INSTEAD
  DELETE FROM ledger WHERE merchant_id = OLD.merchant_id RETURNING merchant_id, balance;
