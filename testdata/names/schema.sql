CREATE TABLE kept (consumer text NOT NULL, id text NOT NULL, words text[], PRIMARY KEY (consumer, id));
