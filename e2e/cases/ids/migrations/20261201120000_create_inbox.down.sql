DROP TABLE "inbox";
