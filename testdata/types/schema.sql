CREATE TYPE color AS ENUM ('red', 'green');

CREATE TABLE spelled (
  event_id text PRIMARY KEY,
  text text, flag boolean, count bigint, small smallint, medium integer, big bigint,
  single real, double double precision, raw bytea, at timestamptz, uid uuid, price numeric, doc jsonb, plain json,
  texts text[], numbers bigint[], uids uuid[], prices numeric[], times timestamptz[], docs jsonb,
  o_text text, o_flag boolean, o_big bigint, o_double double precision, o_at timestamptz, o_uid uuid, o_price numeric,
  o_doc jsonb, o_texts text[],
  day date, never date, days date[], maybe_days date[], o_day date, took interval, tooks interval[], o_took interval
);

CREATE TABLE ordered (
  event_id text PRIMARY KEY,
  occurred_at timestamptz, buyer uuid, seller uuid, token uuid, spare uuid, session uuid, agents uuid[],
  steps numeric[], words text[], ports integer[], tags text[], docs jsonb,
  total numeric, discount numeric, amount numeric, fee numeric, holder text,
  color color, accent color, colors color[], labels text[], level integer, levels jsonb,
  lines jsonb, first jsonb, last jsonb, attrs jsonb, raw jsonb, photo bytea, paid_at timestamptz, sent_at timestamptz,
  small integer, ratio real, untagged text, taken jsonb, day date, days date[]
);
