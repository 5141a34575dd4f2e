CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL);
CREATE TABLE audit (account bigint NOT NULL, balance bigint NOT NULL);
INSERT INTO account VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0);

CREATE RULE audited AS ON UPDATE TO account DO ALSO INSERT INTO audit VALUES (new.id, new.balance);

CREATE VIEW redirected AS SELECT id, balance FROM account;
CREATE RULE redirect AS ON UPDATE TO redirected DO INSTEAD
  UPDATE account SET balance = new.balance WHERE id = old.id;

CREATE VIEW triggered AS SELECT id, balance FROM account;
CREATE FUNCTION update_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE account SET balance = new.balance WHERE id = old.id;
  RETURN new;
END $$;
CREATE TRIGGER update_account INSTEAD OF UPDATE ON triggered FOR EACH ROW EXECUTE FUNCTION update_account();
