DROP TABLE "My Schema"."In""box";
