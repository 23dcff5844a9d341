-- When providers said that they had none of an offer: what the outages of a pool are learned from, among far more prices.
CREATE INDEX offer_none ON offer (until_t) WHERE available = 'no';
