-- What is in the price besides a Linux machine on shared hardware.
ALTER TABLE offer ADD COLUMN kind {text} NOT NULL DEFAULT 'plain';
