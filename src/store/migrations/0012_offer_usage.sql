-- What a reserved machine asks for each hour that it is used, besides what it asks for every hour.
ALTER TABLE offer ADD COLUMN usage_price {i64} DEFAULT 0;
