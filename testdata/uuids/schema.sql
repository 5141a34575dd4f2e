CREATE SCHEMA "My Schema";
CREATE TABLE "My Schema"."Sum" (total bigint NOT NULL);
INSERT INTO "My Schema"."Sum" VALUES (0);
