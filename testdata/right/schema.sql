CREATE SCHEMA "B Schema";
CREATE TABLE "B Schema".total (sum bigint NOT NULL);
INSERT INTO "B Schema".total VALUES (0);
