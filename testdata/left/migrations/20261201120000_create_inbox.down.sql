DROP TABLE "a"."inbox";
