-- One index for what is asked by accelerator, now (until_t NULL comes first) or at another time; of a count, that much less.
DROP INDEX offer_current;
DROP INDEX offer_history;
CREATE INDEX offer_place ON offer (accelerator, until_t, accelerator_count);
